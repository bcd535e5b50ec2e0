/* The module sample-bpf.so: loads ebpf.bpf.c, which is embedded in it, into the kernel with libbpf and maps its counts
 * into our memory. Everything is tied to the process: if the reader is killed, no program stays behind. */
#include "syscalls/ebpf_module.h"

#include "base/clock.h"
#include "base/file.h"
#include "syscalls/ebpf.h"
#include "syscalls/ebpf_arrays.h"
#include "syscalls/kernel_btf.h"
#include <ebpf_object.h> /* generated from ebpf.bpf.c */

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PID_MAX_GREATEST (1u << 22)
#define WARNING_MAX 256

enum program { PROGRAM_RETURNED, PROGRAM_FORKED, PROGRAM_BECAME, PROGRAM_ENDED, PROGRAM_JOINED, PROGRAM_ENTERED, PROGRAMS };

/* Attached in this order; the last only while a job wants times. */
static const char *const program_names[PROGRAMS] = { "returned", "forked", "became", "ended", "joined", "entered" };

/* Maps of arrays. */
enum inner { INNER_BLOCKS, INNER_TIMES, INNER_CLOCKS, INNERS };
static const char *const inner_names[INNERS] = { "blocks", "times", "clocks" };

struct ebpf_programs {
    struct bpf_object *object;
    struct bpf_link *links[PROGRAMS];
    int outer_fds[INNERS], inner_fds[INNERS]; /* inner_fds: templates of the arrays in the outer maps, needed while
                                               * loading */
    uint32_t cpu_count, pid_count;
    void *owners, *section; /* memory shared with the programs */
    size_t owners_size, section_size;
    uint64_t *clocks; /* NULL: no job wants times */
    uint32_t timed;   /* number of jobs with times */
    struct ebpf_pending_inserts pending;
    bool has_cast, has_groups, has_time; /* supported by the kernel; has_time also requested */
};

/* The first warning of libbpf, for the error message. */
static __thread char last_warning[WARNING_MAX];

static int keep_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
    if (level == LIBBPF_WARN && !last_warning[0]) {
        vsnprintf(last_warning, sizeof last_warning, format, arguments);
        last_warning[strcspn(last_warning, "\n")] = '\0';
    }
    return 0;
}

static uint32_t read_pid_max(void)
{
    char text[32];
    if (file_read("", "/proc/sys/kernel/pid_max", text, sizeof text, NULL))
        return PID_MAX_GREATEST;
    unsigned long number = strtoul(text, NULL, 10);
    return number >= 1024 && number <= PID_MAX_GREATEST ? (uint32_t)number : PID_MAX_GREATEST;
}

/* bpf_rdonly_cast exists since Linux 6.2; the cgroup tracepoint depends on the kernel's configuration. */
static void detect_features(struct ebpf_programs *programs, unsigned may)
{
    struct kernel_btf types;
    kernel_btf_open(&types, "");
    programs->has_cast = kernel_btf_has(&types, "bpf_rdonly_cast");
    programs->has_groups = may & EBPF_MAY_WATCH_CGROUPS && kernel_btf_has(&types, "btf_trace_cgroup_attach_task");
    programs->has_time = may & EBPF_MAY_TIME;
    kernel_btf_close(&types);
}

static struct bpf_map *find_section(const struct ebpf_programs *programs, const char *section)
{
    struct bpf_map *map;
    bpf_object__for_each_map(map, programs->object) {
        const char *dot = strchr(bpf_map__name(map), '.');
        if (dot && strcmp(dot, section) == 0)
            return map;
    }
    return NULL;
}

/* The address of a variable of ebpf.bpf.c in the memory of its section; NULL: not found. */
static void *variable(const struct ebpf_programs *programs, const char *section, void *memory, const char *name)
{
    const struct btf *types = bpf_object__btf(programs->object);
    int id = btf__find_by_name_kind(types, section, BTF_KIND_DATASEC);
    const struct btf_type *all = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
    for (int i = 0; all && memory && i < btf_vlen(all); i++) {
        const struct btf_var_secinfo *place = btf_var_secinfos(all) + i;
        if (strcmp(btf__str_by_offset(types, btf__type_by_id(types, place->type)->name_off), name) == 0)
            return (char *)memory + place->offset;
    }
    return NULL;
}

static bool set_constant(struct ebpf_programs *programs, const char *name, const void *value, size_t size)
{
    size_t all;
    struct bpf_map *section = find_section(programs, ".rodata");
    void *memory = section ? (void *)bpf_map__initial_value(section, &all) : NULL;
    void *place = variable(programs, ".rodata", memory, name);
    if (place)
        memcpy(place, value, size);
    return place != NULL;
}

static bool set_constants(struct ebpf_programs *programs, const struct ebpf_constants *constants)
{
    uint8_t can_cast = programs->has_cast, may_time = programs->has_time;
    return set_constant(programs, "results", constants->results, sizeof constants->results)
           && set_constant(programs, "numbers_32", constants->numbers_32, sizeof constants->numbers_32)
           && set_constant(programs, "lost_number", &constants->lost_number, sizeof constants->lost_number)
           && set_constant(programs, "exit_numbers", constants->exit_numbers, sizeof constants->exit_numbers)
           && set_constant(programs, "fork_numbers", constants->fork_numbers, sizeof constants->fork_numbers)
           && set_constant(programs, "can_cast", &can_cast, sizeof can_cast)
           && set_constant(programs, "may_time", &may_time, sizeof may_time);
}

static struct bpf_map *find_map(const struct ebpf_programs *programs, const char *name)
{
    return bpf_object__find_map_by_name(programs->object, name);
}

/* Sets the template of the arrays in a map. */
static int set_inner(struct ebpf_programs *programs, enum inner inner, size_t value_size, uint32_t count)
{
    programs->inner_fds[inner] = ebpf_arrays_create(value_size, count);
    return programs->inner_fds[inner] < 0 ? programs->inner_fds[inner]
                                     : bpf_map__set_inner_map_fd(find_map(programs, inner_names[inner]),
                                                                 programs->inner_fds[inner]);
}

/* Needed only until the outer maps were created. */
static void close_inner(const struct ebpf_programs *programs)
{
    for (size_t i = 0; i < INNERS; i++)
        if (programs->inner_fds[i] > 0)
            close(programs->inner_fds[i]);
}

static int set_sizes(struct ebpf_programs *programs)
{
    int failed = bpf_map__set_max_entries(find_map(programs, "owners"),
                                          (programs->pid_count + EBPF_OWNERS_PER_ELEMENT - 1) / EBPF_OWNERS_PER_ELEMENT);
    if (!failed)
        failed = set_inner(programs, INNER_BLOCKS, sizeof(struct ebpf_block), programs->cpu_count);
    if (!failed)
        failed = set_inner(programs, INNER_TIMES, sizeof(struct ebpf_time_block),
                           programs->has_time ? programs->cpu_count : 1);
    if (!failed)
        failed = set_inner(programs, INNER_CLOCKS, sizeof(uint64_t), programs->has_time ? programs->pid_count : 1);
    return failed;
}

static struct bpf_program *find_program(const struct ebpf_programs *programs, enum program which)
{
    return bpf_object__find_program_by_name(programs->object, program_names[which]);
}

static int attach(struct ebpf_programs *programs, enum program which)
{
    programs->links[which] = bpf_program__attach(find_program(programs, which));
    return programs->links[which] ? 0 : -errno;
}

static void module_close(struct ebpf_programs **programs_at)
{
    struct ebpf_programs *programs = *programs_at;
    if (!programs)
        return;
    ebpf_arrays_wait(&programs->pending);
    for (size_t i = 0; i < PROGRAMS; i++)
        bpf_link__destroy(programs->links[i]);
    ebpf_arrays_unmap(programs->owners, programs->owners_size);
    ebpf_arrays_unmap(programs->section, programs->section_size);
    ebpf_arrays_unmap(programs->clocks, programs->pid_count * sizeof *programs->clocks);
    bpf_object__close(programs->object);
    free(programs);
    *programs_at = NULL;
}

/* Returns a negative errno, as libbpf does. */
static int load(struct ebpf_programs *programs, unsigned may, const struct ebpf_constants *constants)
{
    int cpu_count = libbpf_num_possible_cpus();
    if (cpu_count < 0)
        return cpu_count;
    programs->cpu_count = (uint32_t)cpu_count;
    programs->pid_count = read_pid_max();
    programs->object = bpf_object__open_mem(ebpf_object, sizeof ebpf_object, NULL);
    if (!programs->object)
        return -errno;
    detect_features(programs, may);
    bpf_program__set_autoload(find_program(programs, PROGRAM_JOINED), programs->has_groups);
    bpf_program__set_autoload(find_program(programs, PROGRAM_ENTERED), programs->has_time);
    int failed = set_constants(programs, constants) ? set_sizes(programs) : -EINVAL;
    if (!failed)
        failed = bpf_object__load(programs->object);
    close_inner(programs);
    for (size_t i = 0; i < INNERS && !failed; i++)
        programs->outer_fds[i] = bpf_map__fd(find_map(programs, inner_names[i]));
    return failed;
}

static int share(struct ebpf_programs *programs)
{
    const struct bpf_map *owners = find_map(programs, "owners"), *section = find_section(programs, ".bss");
    programs->owners_size = bpf_map__max_entries(owners) * sizeof(struct ebpf_owners);
    programs->owners = ebpf_arrays_map(bpf_map__fd(owners), programs->owners_size);
    programs->section_size = section ? bpf_map__value_size(section) : 0;
    programs->section = section ? ebpf_arrays_map(bpf_map__fd(section), programs->section_size) : NULL;
    return programs->owners && programs->section ? 0 : -errno;
}

static int attach_all(struct ebpf_programs *programs)
{
    int failed = 0;
    for (enum program i = 0; i < PROGRAM_ENTERED && !failed; i++)
        failed = i == PROGRAM_JOINED && !programs->has_groups ? 0 : attach(programs, i);
    return failed;
}

static bool is_locked_down(void)
{
    char text[128];
    return file_read("", "/sys/kernel/security/lockdown", text, sizeof text, NULL) == OK
           && strstr(text, "[confidentiality]") != NULL;
}

/* Explains an error and its fix. */
static enum err explain(int failed, char *error, size_t error_size)
{
    if (access(KERNEL_BTF, R_OK) != 0) {
        snprintf(error, error_size,
                 "this kernel has no type information in " KERNEL_BTF ": use one with CONFIG_DEBUG_INFO_BTF");
        return ABSENT;
    }
    if (is_locked_down()) {
        snprintf(error, error_size,
                 "the kernel is locked down (confidentiality), which forbids eBPF to read kernel memory");
        return DENIED;
    }
    if (failed == -EPERM || failed == -EACCES) {
        snprintf(error, error_size,
                 "the kernel refuses the eBPF program (%s): run as root, or with CAP_BPF and CAP_PERFMON",
                 last_warning[0] ? last_warning : strerror(-failed));
        return DENIED;
    }
    snprintf(error, error_size, "the kernel does not accept the eBPF program (%s): Linux 5.15 or later is needed",
             last_warning[0] ? last_warning : strerror(-failed));
    return failed == -ENOMEM ? NOMEM : ABSENT;
}

static enum err module_open(struct ebpf_programs **programs_at, unsigned may, const struct ebpf_constants *constants,
                            struct ebpf_memory *memory,
                            char *error, size_t error_size)
{
    struct ebpf_programs *programs = *programs_at = calloc(1, sizeof *programs);
    if (!programs)
        return NOMEM;
    last_warning[0] = '\0';
    libbpf_set_print(keep_warning);
    int failed = load(programs, may, constants);
    if (!failed)
        failed = share(programs);
    if (!failed)
        failed = attach_all(programs);
    if (failed) {
        enum err err = explain(failed, error, error_size);
        module_close(programs_at);
        return err;
    }
    *memory = (struct ebpf_memory){
        .owners = programs->owners,
        .owner_count = programs->pid_count,
        .wanted = variable(programs, ".bss", programs->section, "wanted"),
        .systems = variable(programs, ".bss", programs->section, "systems"),
        .cpu_count = programs->cpu_count,
    };
    return OK;
}

/* The first job that wants times creates the clocks. */
static int begin_time(struct ebpf_programs *programs)
{
    void *memory;
    if (programs->timed || !programs->has_time)
        return programs->timed ? 0 : -ENOENT;
    int failed = ebpf_arrays_insert(&programs->pending, programs->outer_fds[INNER_CLOCKS], 0, sizeof *programs->clocks,
                                    programs->pid_count, &memory);
    programs->clocks = memory;
    return failed ? failed : attach(programs, PROGRAM_ENTERED);
}

static void end_time(struct ebpf_programs *programs)
{
    uint32_t key = 0;
    if (programs->timed || !programs->clocks)
        return;
    ebpf_arrays_wait(&programs->pending);
    bpf_link__destroy(programs->links[PROGRAM_ENTERED]);
    programs->links[PROGRAM_ENTERED] = NULL;
    bpf_map_delete_elem(programs->outer_fds[INNER_CLOCKS], &key);
    ebpf_arrays_unmap(programs->clocks, programs->pid_count * sizeof *programs->clocks);
    programs->clocks = NULL;
}

static void unmap(const struct ebpf_programs *programs, struct ebpf_job_memory *job)
{
    ebpf_arrays_unmap(job->blocks, programs->cpu_count * sizeof *job->blocks);
    ebpf_arrays_unmap(job->times, programs->cpu_count * sizeof *job->times);
    *job = (struct ebpf_job_memory){ 0 };
}

static void module_stop(struct ebpf_programs *programs, const struct ebpf_job_memory *job)
{
    uint32_t key = job->number;
    ebpf_arrays_wait(&programs->pending);
    bpf_map_delete_elem(programs->outer_fds[INNER_BLOCKS], &key); /* waits until no program uses it */
    if (!job->times)
        return;
    bpf_map_delete_elem(programs->outer_fds[INNER_TIMES], &key);
    programs->timed--;
    end_time(programs);
}

static int add_times(struct ebpf_programs *programs, struct ebpf_job_memory *job)
{
    void *memory;
    int failed = begin_time(programs);
    if (!failed)
        failed = ebpf_arrays_insert(&programs->pending, programs->outer_fds[INNER_TIMES], job->number,
                                    sizeof *job->times, programs->cpu_count,
                                    &memory);
    if (!failed) {
        job->times = memory;
        programs->timed++;
    } else
        end_time(programs);
    return failed;
}

static enum err module_add(struct ebpf_programs *programs, uint32_t number, bool with_time, struct ebpf_job_memory *job)
{
    void *memory;
    *job = (struct ebpf_job_memory){ .number = number };
    int failed = ebpf_arrays_insert(&programs->pending, programs->outer_fds[INNER_BLOCKS], number, sizeof *job->blocks,
                                    programs->cpu_count, &memory);
    if (failed)
        return err_from_errno(-failed);
    job->blocks = memory;
    if (with_time)
        failed = add_times(programs, job);
    if (failed) {
        ebpf_arrays_wait(&programs->pending);
        bpf_map_delete_elem(programs->outer_fds[INNER_BLOCKS], &number);
        unmap(programs, job);
    }
    return err_from_errno(-failed);
}

static enum err module_add_time(struct ebpf_programs *programs, struct ebpf_job_memory *job)
{
    return err_from_errno(-add_times(programs, job));
}

static void module_remove(struct ebpf_programs *programs, struct ebpf_job_memory *job)
{
    unmap(programs, job);
}

/* If no call is in progress, the next one overwrites it. */
static void module_start_clock(struct ebpf_programs *programs, uint32_t pid)
{
    uint64_t unknown = 0;
    if (programs->clocks && pid < programs->pid_count)
        __atomic_compare_exchange_n(&programs->clocks[pid], &unknown, clock_monotonic_ns(), false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

static void module_forget_clock(struct ebpf_programs *programs, uint32_t pid)
{
    if (programs->clocks && pid < programs->pid_count)
        __atomic_store_n(&programs->clocks[pid], 0, __ATOMIC_RELAXED);
}

static enum err module_add_cgroup(struct ebpf_programs *programs, uint32_t number, const struct ebpf_cgroup *group)
{
    uint16_t job = (uint16_t)number;
    if (!programs->has_groups)
        return ABSENT;
    return err_from_errno(-bpf_map_update_elem(bpf_map__fd(find_map(programs, "groups")), group, &job, BPF_ANY));
}

static void module_remove_cgroup(struct ebpf_programs *programs, const struct ebpf_cgroup *group)
{
    bpf_map_delete_elem(bpf_map__fd(find_map(programs, "groups")), group);
}

extern const struct ebpf_module sonde_bpf;
__attribute__((visibility("default"))) const struct ebpf_module sonde_bpf = {
    .version = EBPF_MODULE_VERSION,
    .open = module_open,
    .close = module_close,
    .add = module_add,
    .add_time = module_add_time,
    .stop = module_stop,
    .remove = module_remove,
    .add_group = module_add_cgroup,
    .remove_group = module_remove_cgroup,
    .start_clock = module_start_clock,
    .forget_clock = module_forget_clock,
};
