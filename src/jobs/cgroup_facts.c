/* Limits come from the cgroup, the rest from its processes: the batch system's own process there, run by root, has the
 * job id in its title; the job's processes have it in their environment. */
#include "jobs/cgroup_facts.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "jobs/cgroup_path.h"
#include "proc/cpulist.h"
#include "proc/pid.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENVIRON_MAX (128 << 10)
#define PROCESSES_READ 16
#define PROCESSES_SEARCHED 512 /* to find the one of the batch system, which no user can fake */
#define MEMORY_UNLIMITED (1ull << 62) /* v1 writes "no limit" as the largest page-aligned number */

struct facts_search {
    struct cgroup_facts *facts;
    const char *root;
    const struct job_source *source;
    unsigned processes;
    bool has_trusted_id; /* the id is from the batch system's own process */
    char environment[ENVIRON_MAX];
};

static void take_smaller(uint64_t *limit, uint64_t value)
{
    if (value && (!*limit || value < *limit))
        *limit = value;
}

static bool read_number(const char *text, uint64_t *value)
{
    return scan_u64(&text, value);
}

/* In v2 cpuset.cpus is empty if nothing was requested: then the job may use what its parent has, as in .effective. */
static uint64_t cpuset_milli(const struct hierarchies *hierarchies, const char *root, const char *path)
{
    char text[4096];
    size_t legacy = hierarchies->of[CONTROLLER_CPUSET], unified = hierarchies->unified;
    if (hierarchies_file(hierarchies, root, legacy, path, "cpuset.cpus", text, sizeof text)
        && hierarchies_file(hierarchies, root, unified, path, "cpuset.cpus.effective", text, sizeof text))
        return 0;
    return cpulist_count(text, NULL) * 1000;
}

static uint64_t quota_milli(const struct hierarchies *hierarchies, const char *root, const char *path)
{
    char quota[64], period[64];
    uint64_t quota_us, period_us;
    size_t legacy = hierarchies->of[CONTROLLER_CPU];
    const char *at = quota;
    if (!hierarchies_file(hierarchies, root, legacy, path, "cpu.cfs_quota_us", quota, sizeof quota)) {
        if (!read_number(quota, &quota_us)
            || hierarchies_file(hierarchies, root, legacy, path, "cpu.cfs_period_us", period, sizeof period)
            || !read_number(period, &period_us))
            return 0;
    } else if (hierarchies_file(hierarchies, root, hierarchies->unified, path, "cpu.max", quota, sizeof quota)
               || !scan_u64(&at, &quota_us) || !scan_u64(&at, &period_us)) {
        return 0;
    }
    return period_us && quota_us < UINT64_MAX / 1000 ? (quota_us * 1000 + period_us / 2) / period_us : 0;
}

static uint64_t memory_limit(const struct hierarchies *hierarchies, const char *root, const char *path)
{
    char text[64];
    uint64_t bytes;
    size_t legacy = hierarchies->of[CONTROLLER_MEMORY];
    if (hierarchies_file(hierarchies, root, legacy, path, "memory.limit_in_bytes", text, sizeof text)
        && hierarchies_file(hierarchies, root, hierarchies->unified, path, "memory.max", text, sizeof text))
        return 0;
    return read_number(text, &bytes) && bytes < MEMORY_UNLIMITED ? bytes : 0;
}

static void take_string(const char *value, char *out, size_t size)
{
    if (value && *value && !*out && !cgroup_path_copy(bytes_of(value), out, size))
        *out = '\0';
}

/* True: it has the variables of the batch system. */
static bool take_environment(struct facts_search *search, pid_t pid)
{
    const struct job_source *source = search->source;
    struct cgroup_facts *facts = search->facts;
    size_t got;
    uint64_t number;
    if (!source || pid_environ(search->root, pid, search->environment, ENVIRON_MAX, &got))
        return false;
    const char *id = source->id_variable ? pid_environ_find(search->environment, got, source->id_variable) : NULL;
    if (!search->has_trusted_id)
        take_string(id, facts->id, sizeof facts->id);
    if (source->user_variable)
        take_string(pid_environ_find(search->environment, got, source->user_variable), facts->user, sizeof facts->user);
    const char *cores = source->cores_variable ? pid_environ_find(search->environment, got,
                                                                  source->cores_variable) : NULL;
    if (cores && !facts->cores_milli && read_number(cores, &number) && number < UINT32_MAX)
        facts->cores_milli = number * 1000;
    return id != NULL;
}

/* The user of a job is that of its processes, some of which belong to the batch system. Those with the job's
 * environment are trusted most, then others that are not root's. */
static void take_user(struct facts_search *search, pid_t pid, uint32_t uid)
{
    struct cgroup_facts *facts = search->facts;
    bool has_environment = search->processes < PROCESSES_READ && take_environment(search, pid);
    if ((has_environment && !facts->has_environment) || facts->uid == UINT32_MAX
        || (!facts->uid && !facts->has_environment))
        facts->uid = uid;
    facts->has_environment |= has_environment;
}

static bool inspect_process(void *context, pid_t pid)
{
    struct facts_search *search = context;
    struct cgroup_facts *facts = search->facts;
    char title[64];
    uint32_t uid;
    uint64_t start_ns;
    if (pid_uid(search->root, pid, &uid))
        return true;
    facts->has_processes = true;
    if (!pid_start_ns(search->root, pid, &start_ns))
        take_smaller(&facts->start_ns, start_ns);
    bool is_batch_system = uid == 0 && search->source && search->source->title
                           && !pid_title(search->root, pid, title, sizeof title) && search->source->title(title, facts->id);
    if (is_batch_system)
        search->has_trusted_id = true;
    else
        take_user(search, pid, uid);
    bool is_searched = search->source && search->source->title && !search->has_trusted_id;
    return ++search->processes < (is_searched ? PROCESSES_SEARCHED : PROCESSES_READ);
}

/* The mtime of a cgroup directory is its creation, or when the kernel last created its inode: never earlier. */
static void take_directory_time(struct cgroup_facts *facts, const char *directory)
{
    struct stat st;
    if (stat(directory, &st) == 0 && st.st_mtim.tv_sec > 0)
        take_smaller(&facts->start_ns, (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec);
}

void cgroup_facts_read(struct cgroup_facts *facts, const struct hierarchies *hierarchies, const char *root,
                       uint32_t hierarchy_bits,
                       const char *path, const struct job_source *source)
{
    char directory[FILE_PATH_MAX];
    *facts = (struct cgroup_facts){ .uid = UINT32_MAX };
    take_smaller(&facts->cores_milli, cpuset_milli(hierarchies, root, path));
    take_smaller(&facts->cores_milli, quota_milli(hierarchies, root, path));
    facts->memory_bytes = memory_limit(hierarchies, root, path);
    struct facts_search *search = malloc(sizeof *search);
    if (!search)
        return;
    search->facts = facts;
    search->root = root;
    search->source = source;
    search->processes = 0;
    search->has_trusted_id = false;
    for (size_t i = 0; i < hierarchies->count && !facts->has_processes; i++)
        if (hierarchy_bits & 1u << i && !hierarchies_path(hierarchies, root, i, path, "", directory,
                                                          sizeof directory)) {
            take_directory_time(facts, directory);
            pid_each(directory, inspect_process, search);
        }
    free(search);
}

static bool stop_at_first(void *context, pid_t pid)
{
    (void)context;
    (void)pid;
    return false;
}

/* v2 has a flag for it in cgroup.events. */
static bool is_populated(const struct hierarchies *hierarchies, const char *root, size_t i, const char *path)
{
    char directory[FILE_PATH_MAX], text[256];
    uint64_t populated;
    if (hierarchies_path(hierarchies, root, i, path, "", directory, sizeof directory))
        return false;
    if (hierarchies->list[i].unified && !file_read(directory, "/cgroup.events", text, sizeof text, NULL)
        && scan_line_u64(text, "populated ", &populated))
        return populated != 0;
    return !pid_each(directory, stop_at_first, NULL);
}

bool cgroup_facts_is_populated(const struct hierarchies *hierarchies, const char *root, uint32_t hierarchy_bits,
                               const char *path)
{
    for (size_t i = 0; i < hierarchies->count; i++)
        if (hierarchy_bits & 1u << i && is_populated(hierarchies, root, i, path))
            return true;
    return false;
}
