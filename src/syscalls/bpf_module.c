/* The module sample-bpf.so: loads syscalls.bpf.c, which is a part of it, into the kernel by libbpf, and maps what it counts
 * into our memory. Everything goes with the process: a reader that is killed leaves no program behind. */
#include "syscalls/bpf_module.h"

#include "base/clock.h"
#include "base/file.h"
#include "syscalls/bpf_arrays.h"
#include "syscalls/kernel_types.h"
#include "syscalls/syscalls.h"
#include <syscalls_object.h> /* made of syscalls.bpf.c */

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
#define MESSAGE_ROOM 256

enum program { PROGRAM_RETURNED, PROGRAM_FORKED, PROGRAM_BECAME, PROGRAM_ENDED, PROGRAM_JOINED, PROGRAM_ENTERED, PROGRAMS };

/* Attached in this order; the last only while a job wants time. */
static const char *const program_names[PROGRAMS] = { "returned", "forked", "became", "ended", "joined", "entered" };

/* Maps of arrays. */
enum inner { INNER_BLOCKS, INNER_TIMES, INNER_CLOCKS, INNERS };
static const char *const inner_names[INNERS] = { "blocks", "times", "clocks" };

struct bpf {
    struct bpf_object *object;
    struct bpf_link *links[PROGRAMS];
    int outer_fds[INNERS], inner_fds[INNERS]; /* the latter: what the arrays in the former are like, while it is loaded */
    uint32_t cpu_count, pid_count;
    void *owners, *section; /* memory that is shared with the programs */
    size_t owners_size, section_size;
    uint64_t *clocks; /* NULL: nobody wants time */
    uint32_t timed;   /* jobs */
    struct bpf_arrays_waits waits;
    bool has_cast, has_groups, has_time; /* the kernel has it; and the others are wanted */
};

/* libbpf's complaint that came last, for the one who asked. */
static __thread char message[MESSAGE_ROOM];

static int hear(enum libbpf_print_level level, const char *format, va_list arguments)
{
    if (level == LIBBPF_WARN && !message[0]) {
        vsnprintf(message, sizeof message, format, arguments);
        message[strcspn(message, "\n")] = '\0';
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

/* bpf_rdonly_cast: a function of the kernel that programs may call, of Linux 6.2; and the news of control groups, which a kernel
 * may be built without. */
static void look_at_kernel(struct bpf *bpf, unsigned may)
{
    struct kernel_types types;
    kernel_types_init(&types, "");
    bpf->has_cast = kernel_types_has(&types, "bpf_rdonly_cast");
    bpf->has_groups = may & SYSCALLS_MAY_JOIN && kernel_types_has(&types, "btf_trace_cgroup_attach_task");
    bpf->has_time = may & SYSCALLS_MAY_TIME;
    kernel_types_clear(&types);
}

static struct bpf_map *find_section(const struct bpf *bpf, const char *section)
{
    struct bpf_map *map;
    bpf_object__for_each_map(map, bpf->object) {
        const char *dot = strchr(bpf_map__name(map), '.');
        if (dot && strcmp(dot, section) == 0)
            return map;
    }
    return NULL;
}

/* Where a variable of syscalls.bpf.c stands in the memory of its section; NULL: it has none. */
static void *variable(const struct bpf *bpf, const char *section, void *memory, const char *name)
{
    const struct btf *types = bpf_object__btf(bpf->object);
    int id = btf__find_by_name_kind(types, section, BTF_KIND_DATASEC);
    const struct btf_type *all = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
    for (int i = 0; all && memory && i < btf_vlen(all); i++) {
        const struct btf_var_secinfo *place = btf_var_secinfos(all) + i;
        if (strcmp(btf__str_by_offset(types, btf__type_by_id(types, place->type)->name_off), name) == 0)
            return (char *)memory + place->offset;
    }
    return NULL;
}

static bool set_constant(struct bpf *bpf, const char *name, const void *value, size_t size)
{
    size_t all;
    struct bpf_map *section = find_section(bpf, ".rodata");
    void *memory = section ? (void *)bpf_map__initial_value(section, &all) : NULL;
    void *place = variable(bpf, ".rodata", memory, name);
    if (place)
        memcpy(place, value, size);
    return place != NULL;
}

static bool set_constants(struct bpf *bpf, const struct bpf_constants *constants)
{
    uint8_t can_cast = bpf->has_cast, may_time = bpf->has_time;
    return set_constant(bpf, "results", constants->results, sizeof constants->results)
           && set_constant(bpf, "numbers_32", constants->numbers_32, sizeof constants->numbers_32)
           && set_constant(bpf, "lost_number", &constants->lost_number, sizeof constants->lost_number)
           && set_constant(bpf, "exit_numbers", constants->exit_numbers, sizeof constants->exit_numbers)
           && set_constant(bpf, "birth_numbers", constants->birth_numbers, sizeof constants->birth_numbers)
           && set_constant(bpf, "can_cast", &can_cast, sizeof can_cast)
           && set_constant(bpf, "may_time", &may_time, sizeof may_time);
}

static struct bpf_map *find_map(const struct bpf *bpf, const char *name)
{
    return bpf_object__find_map_by_name(bpf->object, name);
}

/* What the arrays in a map will be like. */
static int set_inner(struct bpf *bpf, enum inner inner, size_t value_size, uint32_t count)
{
    bpf->inner_fds[inner] = bpf_arrays_make(value_size, count);
    return bpf->inner_fds[inner] < 0 ? bpf->inner_fds[inner]
                                     : bpf_map__set_inner_map_fd(find_map(bpf, inner_names[inner]), bpf->inner_fds[inner]);
}

/* They were needed until the outer maps were made. */
static void close_inner(const struct bpf *bpf)
{
    for (size_t i = 0; i < INNERS; i++)
        if (bpf->inner_fds[i] > 0)
            close(bpf->inner_fds[i]);
}

static int set_sizes(struct bpf *bpf)
{
    int failed = bpf_map__set_max_entries(find_map(bpf, "owners"), (bpf->pid_count + SYSCALLS_OWNERS - 1) / SYSCALLS_OWNERS);
    if (!failed)
        failed = set_inner(bpf, INNER_BLOCKS, sizeof(struct syscalls_block), bpf->cpu_count);
    if (!failed)
        failed = set_inner(bpf, INNER_TIMES, sizeof(struct syscalls_time_block), bpf->has_time ? bpf->cpu_count : 1);
    if (!failed)
        failed = set_inner(bpf, INNER_CLOCKS, sizeof(uint64_t), bpf->has_time ? bpf->pid_count : 1);
    return failed;
}

static struct bpf_program *find_program(const struct bpf *bpf, enum program which)
{
    return bpf_object__find_program_by_name(bpf->object, program_names[which]);
}

static int attach(struct bpf *bpf, enum program which)
{
    bpf->links[which] = bpf_program__attach(find_program(bpf, which));
    return bpf->links[which] ? 0 : -errno;
}

static void bpf_close(struct bpf **bpf_at)
{
    struct bpf *bpf = *bpf_at;
    if (!bpf)
        return;
    bpf_arrays_await(&bpf->waits);
    for (size_t i = 0; i < PROGRAMS; i++)
        bpf_link__destroy(bpf->links[i]);
    bpf_arrays_unshare(bpf->owners, bpf->owners_size);
    bpf_arrays_unshare(bpf->section, bpf->section_size);
    bpf_arrays_unshare(bpf->clocks, bpf->pid_count * sizeof *bpf->clocks);
    bpf_object__close(bpf->object);
    free(bpf);
    *bpf_at = NULL;
}

/* Returns a negative errno, as libbpf does. */
static int load(struct bpf *bpf, unsigned may, const struct bpf_constants *constants)
{
    int cpu_count = libbpf_num_possible_cpus();
    if (cpu_count < 0)
        return cpu_count;
    bpf->cpu_count = (uint32_t)cpu_count;
    bpf->pid_count = read_pid_max();
    bpf->object = bpf_object__open_mem(syscalls_object, sizeof syscalls_object, NULL);
    if (!bpf->object)
        return -errno;
    look_at_kernel(bpf, may);
    bpf_program__set_autoload(find_program(bpf, PROGRAM_JOINED), bpf->has_groups);
    bpf_program__set_autoload(find_program(bpf, PROGRAM_ENTERED), bpf->has_time);
    int failed = set_constants(bpf, constants) ? set_sizes(bpf) : -EINVAL;
    if (!failed)
        failed = bpf_object__load(bpf->object);
    close_inner(bpf);
    for (size_t i = 0; i < INNERS && !failed; i++)
        bpf->outer_fds[i] = bpf_map__fd(find_map(bpf, inner_names[i]));
    return failed;
}

static int share(struct bpf *bpf)
{
    const struct bpf_map *owners = find_map(bpf, "owners"), *section = find_section(bpf, ".bss");
    bpf->owners_size = bpf_map__max_entries(owners) * sizeof(struct syscalls_owners);
    bpf->owners = bpf_arrays_share(bpf_map__fd(owners), bpf->owners_size);
    bpf->section_size = section ? bpf_map__value_size(section) : 0;
    bpf->section = section ? bpf_arrays_share(bpf_map__fd(section), bpf->section_size) : NULL;
    return bpf->owners && bpf->section ? 0 : -errno;
}

static int attach_all(struct bpf *bpf)
{
    int failed = 0;
    for (enum program i = 0; i < PROGRAM_ENTERED && !failed; i++)
        failed = i == PROGRAM_JOINED && !bpf->has_groups ? 0 : attach(bpf, i);
    return failed;
}

static bool is_locked_down(void)
{
    char text[128];
    return file_read("", "/sys/kernel/security/lockdown", text, sizeof text, NULL) == OK
           && strstr(text, "[confidentiality]") != NULL;
}

/* In words, with what to do. */
static enum err explain(int failed, char *why, size_t why_size)
{
    if (access(KERNEL_TYPES, R_OK) != 0) {
        snprintf(why, why_size, "this kernel has no types in " KERNEL_TYPES ": one with CONFIG_DEBUG_INFO_BTF is needed");
        return ABSENT;
    }
    if (is_locked_down()) {
        snprintf(why, why_size, "the kernel is locked down (confidentiality), so that eBPF may not look into it");
        return DENIED;
    }
    if (failed == -EPERM || failed == -EACCES) {
        snprintf(why, why_size, "the kernel refuses the eBPF program (%s): root is needed, or CAP_BPF and CAP_PERFMON",
                 message[0] ? message : strerror(-failed));
        return DENIED;
    }
    snprintf(why, why_size, "the kernel does not take the eBPF program (%s): Linux 5.15 or later is needed",
             message[0] ? message : strerror(-failed));
    return failed == -ENOMEM ? NOMEM : ABSENT;
}

static enum err bpf_open(struct bpf **bpf_at, unsigned may, const struct bpf_constants *constants, struct bpf_memory *memory,
                         char *why, size_t why_size)
{
    struct bpf *bpf = *bpf_at = calloc(1, sizeof *bpf);
    if (!bpf)
        return NOMEM;
    message[0] = '\0';
    libbpf_set_print(hear);
    int failed = load(bpf, may, constants);
    if (!failed)
        failed = share(bpf);
    if (!failed)
        failed = attach_all(bpf);
    if (failed) {
        enum err err = explain(failed, why, why_size);
        bpf_close(bpf_at);
        return err;
    }
    *memory = (struct bpf_memory){
        .owners = bpf->owners, .owner_count = bpf->pid_count, .wanted = variable(bpf, ".bss", bpf->section, "wanted"),
        .systems = variable(bpf, ".bss", bpf->section, "systems"), .cpu_count = bpf->cpu_count,
    };
    return OK;
}

/* The first job that wants time brings the clocks. */
static int begin_time(struct bpf *bpf)
{
    void *memory;
    if (bpf->timed || !bpf->has_time)
        return bpf->timed ? 0 : -ENOENT;
    int failed = bpf_arrays_add(&bpf->waits, bpf->outer_fds[INNER_CLOCKS], 0, sizeof *bpf->clocks, bpf->pid_count, &memory);
    bpf->clocks = memory;
    return failed ? failed : attach(bpf, PROGRAM_ENTERED);
}

static void end_time(struct bpf *bpf)
{
    uint32_t key = 0;
    if (bpf->timed || !bpf->clocks)
        return;
    bpf_arrays_await(&bpf->waits);
    bpf_link__destroy(bpf->links[PROGRAM_ENTERED]);
    bpf->links[PROGRAM_ENTERED] = NULL;
    bpf_map_delete_elem(bpf->outer_fds[INNER_CLOCKS], &key);
    bpf_arrays_unshare(bpf->clocks, bpf->pid_count * sizeof *bpf->clocks);
    bpf->clocks = NULL;
}

static void unmap(const struct bpf *bpf, struct bpf_job *job)
{
    bpf_arrays_unshare(job->blocks, bpf->cpu_count * sizeof *job->blocks);
    bpf_arrays_unshare(job->times, bpf->cpu_count * sizeof *job->times);
    *job = (struct bpf_job){ 0 };
}

static void bpf_stop(struct bpf *bpf, const struct bpf_job *job)
{
    uint32_t key = job->number;
    bpf_arrays_await(&bpf->waits);
    bpf_map_delete_elem(bpf->outer_fds[INNER_BLOCKS], &key); /* waits until no program is in it */
    if (!job->times)
        return;
    bpf_map_delete_elem(bpf->outer_fds[INNER_TIMES], &key);
    bpf->timed--;
    end_time(bpf);
}

static int add_times(struct bpf *bpf, struct bpf_job *job)
{
    void *memory;
    int failed = begin_time(bpf);
    if (!failed)
        failed = bpf_arrays_add(&bpf->waits, bpf->outer_fds[INNER_TIMES], job->number, sizeof *job->times, bpf->cpu_count,
                                &memory);
    if (!failed) {
        job->times = memory;
        bpf->timed++;
    } else
        end_time(bpf);
    return failed;
}

static enum err bpf_add(struct bpf *bpf, uint32_t number, bool with_time, struct bpf_job *job)
{
    void *memory;
    *job = (struct bpf_job){ .number = number };
    int failed = bpf_arrays_add(&bpf->waits, bpf->outer_fds[INNER_BLOCKS], number, sizeof *job->blocks, bpf->cpu_count, &memory);
    if (failed)
        return err_from_errno(-failed);
    job->blocks = memory;
    if (with_time)
        failed = add_times(bpf, job);
    if (failed) {
        bpf_arrays_await(&bpf->waits);
        bpf_map_delete_elem(bpf->outer_fds[INNER_BLOCKS], &number);
        unmap(bpf, job);
    }
    return err_from_errno(-failed);
}

static enum err bpf_add_time(struct bpf *bpf, struct bpf_job *job)
{
    return err_from_errno(-add_times(bpf, job));
}

static void bpf_remove(struct bpf *bpf, struct bpf_job *job)
{
    unmap(bpf, job);
}

/* Where no call is under way the next one overwrites it. */
static void bpf_start_clock(struct bpf *bpf, uint32_t pid)
{
    uint64_t unknown = 0;
    if (bpf->clocks && pid < bpf->pid_count)
        __atomic_compare_exchange_n(&bpf->clocks[pid], &unknown, clock_monotonic_ns(), false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

static void bpf_forget_clock(struct bpf *bpf, uint32_t pid)
{
    if (bpf->clocks && pid < bpf->pid_count)
        __atomic_store_n(&bpf->clocks[pid], 0, __ATOMIC_RELAXED);
}

static enum err bpf_add_group(struct bpf *bpf, uint32_t number, const struct syscalls_group *group)
{
    uint16_t job = (uint16_t)number;
    if (!bpf->has_groups)
        return ABSENT;
    return err_from_errno(-bpf_map_update_elem(bpf_map__fd(find_map(bpf, "groups")), group, &job, BPF_ANY));
}

static void bpf_remove_group(struct bpf *bpf, const struct syscalls_group *group)
{
    bpf_map_delete_elem(bpf_map__fd(find_map(bpf, "groups")), group);
}

extern const struct bpf_module sonde_bpf;
__attribute__((visibility("default"))) const struct bpf_module sonde_bpf = {
    .version = BPF_MODULE_VERSION,
    .open = bpf_open,
    .close = bpf_close,
    .add = bpf_add,
    .add_time = bpf_add_time,
    .stop = bpf_stop,
    .remove = bpf_remove,
    .add_group = bpf_add_group,
    .remove_group = bpf_remove_group,
    .start_clock = bpf_start_clock,
    .forget_clock = bpf_forget_clock,
};
