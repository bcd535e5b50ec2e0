/* Resolves event names, checks that the kernel opens each, and explains those that it does not. */
#include "proc/perf.h"

#include "base/log.h"
#include "proc/perf_names.h"
#include "proc/perf_pfm.h"
#include "proc/perf_sysfs.h"
#include "spool/probe_env.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_MAX_BYTES 256
#define USER_SUFFIX ":u"
#define USER_MODE (PROBE_EXCLUDE_KERNEL | PROBE_EXCLUDE_HYPERVISOR)

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

int (*perf_event_open_call)(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                            unsigned long flags) = open_event;

static void explain(struct perf_problem *problem, const char *reason, const char *fix)
{
    snprintf(problem->reason, sizeof problem->reason, "%s", reason);
    snprintf(problem->fix, sizeof problem->fix, "%s", fix);
}

void perf_event_attr_init(const struct perf_event_spec *spec, struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){
        .type = spec->type,
        .size = sizeof *attr,
        .config = spec->config,
        .config1 = spec->config1,
        .config2 = spec->config2,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = !!(spec->exclude & PROBE_EXCLUDE_KERNEL),
        .exclude_hv = !!(spec->exclude & PROBE_EXCLUDE_HYPERVISOR),
    };
}

/* Opens the event and closes it at once. Returns 0 or errno. */
static int try_open(const struct perf_event_spec *spec)
{
    struct perf_event_attr attr;
    perf_event_attr_init(spec, &attr);
    attr.disabled = 1;
    int fd = perf_event_open_call(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* These happen in kernel mode only: restricted to user mode they would count 0 and look valid. */
static bool needs_kernel(const struct perf_event_spec *spec)
{
    return spec->type == PERF_TYPE_SOFTWARE
           && (spec->config == PERF_COUNT_SW_CONTEXT_SWITCHES || spec->config == PERF_COUNT_SW_CPU_MIGRATIONS
               || spec->config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

static enum err explain_kernel_only(struct perf_problem *problem)
{
    explain(problem, "it happens in kernel mode, which this user may not count",
            "sysctl kernel.perf_event_paranoid=1, or run as root");
    return DENIED;
}

static enum err explain_errno(int number, struct perf_problem *problem)
{
    switch (number) {
    case EACCES: case EPERM:
        explain(problem, "permission denied for performance events",
                "sysctl kernel.perf_event_paranoid=2 (1 to count in the kernel too), or run as root");
        return DENIED;
    case ENOSYS:
        explain(problem, "this kernel has no performance events", "use a kernel with CONFIG_PERF_EVENTS");
        return ABSENT;
    case ENOENT: case ENODEV: case EOPNOTSUPP: case ENXIO:
        explain(problem, "this node has no such counter",
                "a virtual machine needs a virtual PMU from its hypervisor; otherwise see 'perf list'");
        return ABSENT;
    case EINVAL:
        explain(problem, "the kernel cannot count it per thread on this processor",
                "see 'perf list'; events of a whole package cannot be counted per thread");
        return ABSENT;
    case EMFILE: case ENFILE:
        explain(problem, "out of file descriptors", "raise ulimit -n");
        return FULL;
    default:
        explain(problem, strerror(number), "remove this event");
        return err_from_errno(number);
    }
}

/* Falls back to user mode if this user may not count in the kernel. */
static enum err check_event(struct perf_event_spec *spec, struct perf_problem *problem)
{
    int number = try_open(spec);
    bool forbidden = number == EACCES || number == EPERM;
    if (!forbidden || spec->exclude & PROBE_EXCLUDE_KERNEL)
        return number ? explain_errno(number, problem) : OK;
    if (needs_kernel(spec))
        return explain_kernel_only(problem);
    spec->exclude |= USER_MODE;
    number = try_open(spec);
    if (number == EINVAL) /* the PMU cannot distinguish user and kernel mode */
        return explain_kernel_only(problem);
    spec->is_reduced = !number;
    return number ? explain_errno(number, problem) : OK;
}

static enum err encode_with_pfm(const char *name, struct perf_event_spec *spec, struct perf_problem *problem)
{
    enum err err = perf_pfm_encode(name, spec, problem->reason, sizeof problem->reason);
    if (err == ABSENT)
        explain(problem,
                "the kernel has no event of this name, and libpfm4, which may have it, is not installed",
                "apt install libpfm4, or see 'perf list'");
    else if (err)
        snprintf(problem->fix, sizeof problem->fix, "see 'perf list' or showevtinfo of libpfm4");
    return err;
}

/* A kernel event name may end in ":u". */
static enum err encode_known(const char *name, struct perf_event_spec *spec)
{
    char plain[NAME_MAX_BYTES];
    size_t size = strlen(name);
    bool user_mode = size > 2 && !strcmp(name + size - 2, USER_SUFFIX);
    snprintf(plain, sizeof plain, "%.*s", (int)(user_mode ? size - 2 : size), name);
    enum err err = perf_names_encode(plain, spec);
    if (!err && user_mode)
        spec->exclude |= USER_MODE;
    return err;
}

static enum err encode(const char *name, struct perf_event_spec *spec, struct perf_problem *problem)
{
    if (strchr(name, '/')) {
        enum err err = perf_sysfs_encode("", name, spec);
        if (err)
            explain(problem, err == ABSENT ? "this node has no such PMU" : "the PMU has no such event or term",
                    "see /sys/bus/event_source/devices");
        return err;
    }
    if (encode_known(name, spec) == OK)
        return OK;
    return encode_with_pfm(name, spec, problem);
}

enum err perf_resolve_one(const char *name, struct perf_event_spec *spec, struct perf_problem *problem)
{
    *spec = (struct perf_event_spec){ 0 };
    *problem = (struct perf_problem){ "", "" };
    if (strlen(name) >= sizeof spec->name) {
        explain(problem, "the name is too long", "use at most 63 characters");
        return USAGE;
    }
    memcpy(spec->name, name, strlen(name) + 1);
    enum err err = encode(name, spec, problem);
    if (!err && spec->exclude & PROBE_EXCLUDE_KERNEL && needs_kernel(spec)) {
        explain(problem, "it never happens in user mode", "remove \":u\"");
        return USAGE;
    }
    return err ? err : check_event(spec, problem);
}

/* Takes the next name off the list. A comma between slashes belongs to the name: cpu/event=1,umask=2/. */
static bool next_name(const char **list, char name[NAME_MAX_BYTES])
{
    bool inside = false;
    size_t size = 0;
    *list += strspn(*list, ", \t\n");
    for (; **list && (inside || **list != ','); ++*list) {
        inside ^= **list == '/';
        if (size < NAME_MAX_BYTES - 1)
            name[size++] = **list;
    }
    while (size && strchr(" \t\n", name[size - 1]))
        size--;
    name[size] = '\0';
    return size > 0;
}

static bool is_duplicate(const char *list, const char *end, const char *name)
{
    char earlier[NAME_MAX_BYTES];
    while (next_name(&list, earlier) && list < end)
        if (!strcmp(earlier, name))
            return true;
    return false;
}

size_t perf_resolve_with(const char *list, struct perf_event_spec *specs, bool *is_counted, size_t max,
                         void (*missing)(const char *name, const struct perf_problem *problem))
{
    char name[NAME_MAX_BYTES];
    size_t count = 0;
    for (const char *rest = list; next_name(&rest, name);) {
        struct perf_event_spec spec = { 0 };
        struct perf_problem problem;
        if (is_duplicate(list, rest, name))
            continue;
        bool is_good = count < max && !perf_resolve_one(name, &spec, &problem);
        if (count == max) {
            snprintf(problem.reason, sizeof problem.reason, "more than %zu events", max);
            snprintf(problem.fix, sizeof problem.fix, "count the others in another run");
        }
        if (!is_good)
            missing(name, &problem);
        if (count == max || (!is_good && !is_counted))
            continue;
        if (!is_good)
            snprintf(spec.name, sizeof spec.name, "%.63s", name);
        if (is_counted)
            is_counted[count] = is_good;
        specs[count++] = spec;
    }
    return count;
}

bool perf_find_unknown(const char *list, char *name, size_t size)
{
    char word[NAME_MAX_BYTES];
    while (next_name(&list, word)) {
        struct perf_event_spec spec;
        struct perf_problem problem;
        if (perf_resolve_one(word, &spec, &problem) != USAGE)
            continue;
        snprintf(name, size, "%s", word);
        return true;
    }
    return false;
}

static void warn_of_missing(const char *name, const struct perf_problem *problem)
{
    log_error("event %s is not counted: %s. Fix: %s.", name, problem->reason, problem->fix);
}

static bool has_name(const struct perf_event_spec *specs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(specs[i].name, name))
            return true;
    return false;
}

/* A count without kernel mode is another number and must not be stored under the same name. Returns how many are left
 * after removing duplicates. */
static size_t name_reduced(struct perf_event_spec *specs, size_t count)
{
    size_t kept = 0;
    bool has_logged = false;
    for (size_t i = 0; i < count; i++) {
        struct perf_event_spec spec = specs[i];
        size_t size = strlen(spec.name);
        if (spec.is_reduced && !has_logged)
            log_warn("perf events are counted in user mode only, and named so (%s" USER_SUFFIX "): this user may not count in "
                     "the kernel. Fix: sysctl kernel.perf_event_paranoid=1, or run as root.", spec.name);
        has_logged = has_logged || spec.is_reduced;
        if (spec.is_reduced && size + sizeof USER_SUFFIX <= sizeof spec.name)
            memcpy(spec.name + size, USER_SUFFIX, sizeof USER_SUFFIX);
        if (!has_name(specs, kept, spec.name))
            specs[kept++] = spec;
    }
    return kept;
}

size_t perf_resolve(const char *list, struct perf_event_spec *specs, size_t max)
{
    return name_reduced(specs, perf_resolve_with(list, specs, NULL, max, warn_of_missing));
}
