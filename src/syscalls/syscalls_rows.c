/* The processors' rows are added up; a call that returns bytes is the sum over its classes. */
#include "syscalls/syscalls_rows.h"

#include "base/clock.h"
#include "model/program_sets.h"
#include "syscalls/syscall_names.h"
#include "syscalls/syscalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SYSCALLS_NUMBERS == SYSCALL_NAMES_MAX, "a row for each number");
_Static_assert(SYSCALLS_BUCKETS == SYSCALL_BUCKETS, "the set's buckets");

#define NAME_ROOM 80

/* File systems by the number that the kernel gives them; some have none in a header. */
static const struct {
    uint64_t magic;
    const char *name;
} systems_known[] = {
    { 0xef53, "ext4" }, { 0x58465342, "xfs" }, { 0x9123683e, "btrfs" }, { 0x2fc12fc1, "zfs" }, { 0x01021994, "tmpfs" },
    { 0x858458f6, "ramfs" }, { 0x794c7630, "overlay" }, { 0x6969, "nfs" }, { 0x0bd00bd0, "lustre" }, { 0x47504653, "gpfs" },
    { 0x19830326, "beegfs" }, { 0x00c36400, "ceph" }, { 0xaad7aaea, "panfs" }, { 0x65735546, "fuse" }, { 0x9fa0, "proc" },
    { 0x62656572, "sysfs" }, { 0x27e0eb, "cgroup" }, { 0x63677270, "cgroup2" }, { 0x958458f6, "hugetlbfs" }, { 0x01021997, "9p" },
    { 0x73717368, "squashfs" }, { 0xff534d42, "cifs" }, { 0xfe534d42, "smb" }, { 0x4d44, "vfat" }, { 0xf2f52010, "f2fs" },
    { 0x64626720, "debugfs" }, { 0x74726163, "tracefs" }, { 0xcafe4a11, "bpf" }, { 0x5346414f, "afs" }, { 0x7461636f, "ocfs2" },
    { 0x01161970, "gfs2" }, { 0x20030528, "orangefs" }, { 0x786f4256, "vboxsf" }, { 0x6a656a63, "virtiofs" }, { 0x3434, "nilfs" },
    { 0x19800202, "mqueue" },
};

#define ANONYMOUS 0x09041934 /* eventfd and its like, which newer kernels call files */

/* What stands in the type of an inode. */
static const char *class_name(uint32_t class)
{
    switch (class) {
    case 1: return "pipe";
    case 2: return "device";
    case 4: return "folder";
    case 6: return "disk";
    case 8: return "file";
    case 12: return "socket";
    default: return "anonymous";
    }
}

static void write_class(char *name, size_t room, uint32_t class, const uint64_t *systems)
{
    if (class < SYSCALLS_CLASS_SYSTEM) {
        snprintf(name, room, "%s", class_name(class));
        return;
    }
    uint64_t magic = systems[class - SYSCALLS_CLASS_SYSTEM];
    for (size_t i = 0; i < sizeof systems_known / sizeof *systems_known; i++)
        if (systems_known[i].magic == magic) {
            snprintf(name, room, "file:%s", systems_known[i].name);
            return;
        }
    if (magic == ANONYMOUS)
        snprintf(name, room, "anonymous");
    else
        snprintf(name, room, "file:0x%llx", (unsigned long long)magic);
}

/* Reads another process's memory: no descriptor is in it. */
static bool has_descriptor(unsigned number)
{
    const char *name = syscall_names_find(number);
    return name && strncmp(name, "process_vm_", 11) != 0;
}

void syscalls_rows_init(struct syscalls_rows *rows)
{
    static const char *const exits[2] = { "exit", "exit_group" };
    static const char *const births[SYSCALLS_BIRTHS] = { "fork", "vfork", "clone", "clone3" };
    struct bpf_constants *constants = &rows->constants;
    *rows = (struct syscalls_rows){ 0 };
    for (unsigned i = 0; i < SYSCALLS_NUMBERS; i++) {
        int same = syscall_names_from_i386(i);
        constants->numbers_32[i] = same >= 0 ? (uint16_t)same : SYSCALLS_OTHER;
        if (syscall_names_result(i) == SYSCALL_RESULT_OTHER)
            continue;
        constants->results[i] = SYSCALLS_BYTES;
        if (rows->group_count < SYSCALLS_GROUPS && has_descriptor(i)) {
            constants->results[i] = (uint8_t)(SYSCALLS_GROUP + rows->group_count);
            rows->group_number[rows->group_count++] = (uint16_t)i;
        }
    }
    rows->sigreturn = (uint16_t)syscall_names_number("rt_sigreturn");
    for (size_t i = 0; i < 2; i++)
        constants->exit_numbers[i] = (uint16_t)syscall_names_number(exits[i]);
    for (size_t i = 0; i < SYSCALLS_BIRTHS; i++) /* those that the machine lacks have a number that no call has */
        constants->birth_numbers[i] = (uint16_t)syscall_names_number(births[i]);
#ifdef __aarch64__
    constants->lost_number = (uint16_t)syscall_names_number("execve"); /* a new program has new registers */
#else
    constants->lost_number = rows->sigreturn; /* it sets what it returns to */
#endif
}

/* There are no more than calls and file systems of this machine. */
const char *syscalls_keep_name(const char *name)
{
    static char **kept;
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i], name) == 0)
            return kept[i];
    char **all = realloc(kept, (count + 1) * sizeof *all);
    if (!all)
        return NULL;
    kept = all;
    kept[count] = strdup(name);
    return kept[count] ? kept[count++] : NULL;
}

const char *syscalls_rows_name(struct syscalls_rows *rows, size_t row, const uint64_t *systems)
{
    char number_name[SYSCALL_NAME_ROOM], class[NAME_ROOM / 2], name[NAME_ROOM];
    if (rows->names[row])
        return rows->names[row];
    if (row < SYSCALLS_NUMBERS) {
        snprintf(name, sizeof name, "%s", syscall_names_write((unsigned)row, number_name));
    } else {
        size_t group = (row - SYSCALLS_NUMBERS) / SYSCALLS_CLASSES;
        write_class(class, sizeof class, (row - SYSCALLS_NUMBERS) % SYSCALLS_CLASSES, systems);
        snprintf(name, sizeof name, "%s/%s", syscall_names_write(rows->group_number[group], number_name), class);
    }
    return rows->names[row] = syscalls_keep_name(name);
}

static void add_row(struct syscalls_row *sum, const struct syscalls_row *row)
{
    sum->calls += __atomic_load_n(&row->calls, __ATOMIC_RELAXED);
    sum->errors += __atomic_load_n(&row->errors, __ATOMIC_RELAXED);
    sum->bytes += __atomic_load_n(&row->bytes, __ATOMIC_RELAXED);
    sum->time_ns += __atomic_load_n(&row->time_ns, __ATOMIC_RELAXED);
}

static void sum_up(struct syscalls_rows *rows, const struct bpf_memory *memory, const struct bpf_job *job)
{
    struct syscalls_row *sums = rows->sums.rows;
    memset(&rows->sums, 0, sizeof rows->sums);
    for (uint32_t cpu = 0; cpu < memory->cpu_count; cpu++)
        for (size_t i = 0; i < SYSCALLS_ROWS; i++) {
            add_row(&sums[i], &job->blocks[cpu].rows[i]);
            if (job->times)
                add_row(&sums[i], &job->times[cpu].rows[i]);
        }
    for (size_t i = SYSCALLS_NUMBERS; i < SYSCALLS_ROWS; i++)
        add_row(&sums[rows->group_number[(i - SYSCALLS_NUMBERS) / SYSCALLS_CLASSES]], &sums[i]);
    sums[rows->sigreturn].errors = 0; /* what it returns is the result of the call that the signal broke off */
}

/* What all samples of a reading have in common. */
struct sample_head {
    uint64_t time_ns;
    const char *job_id;
    bool is_beginning; /* all is 0 */
};

static enum err give_row(struct syscalls_rows *rows, const struct bpf_memory *memory, size_t row, struct sample_head head,
                         struct batch *out)
{
    static const struct syscalls_row nothing;
    const struct syscalls_row *sum = head.is_beginning ? &nothing : &rows->sums.rows[row];
    const char *name = syscalls_rows_name(rows, row, memory->systems);
    struct sample *sample = name ? batch_add(out, &syscall_set, head.time_ns, name) : NULL;
    if (!sample)
        return NOMEM;
    sample->job = head.job_id;
    sample_set_u64(sample, SYSCALL_CALLS, sum->calls);
    sample_set_u64(sample, SYSCALL_ERRORS, sum->errors);
    if (row >= SYSCALLS_NUMBERS || rows->constants.results[row])
        sample_set_u64(sample, SYSCALL_BYTES, sum->bytes);
    if (rows->sums.rows[row].time_ns) /* one that returned has some: of the others none was measured */
        sample_set_u64(sample, SYSCALL_TIME, sum->time_ns);
    return OK;
}

static enum err give_times(struct syscalls_rows *rows, const struct bpf_memory *memory, const struct bpf_job *job,
                           size_t number, struct sample_head head, struct batch *out)
{
    struct sample *sample = batch_add(out, &syscall_time_set, head.time_ns, rows->names[number]);
    if (!sample)
        return NOMEM;
    sample->job = head.job_id;
    for (size_t i = 0; i < SYSCALLS_BUCKETS; i++) {
        uint64_t count = 0;
        for (uint32_t cpu = 0; cpu < memory->cpu_count && !head.is_beginning; cpu++)
            count += __atomic_load_n(&job->times[cpu].times[number].count[i], __ATOMIC_RELAXED);
        sample_set_u64(sample, i, count);
    }
    return OK;
}

/* With its times, where it has any. */
static enum err give(struct syscalls_rows *rows, const struct bpf_memory *memory, const struct bpf_job *job, size_t row,
                     struct sample_head head, struct batch *out)
{
    enum err err = give_row(rows, memory, row, head, out);
    return !err && job->times && row < SYSCALLS_NUMBERS ? give_times(rows, memory, job, row, head, out) : err;
}

enum err syscalls_rows_give(struct syscalls_rows *rows, const struct bpf_memory *memory, const struct bpf_job *job,
                            const char *job_id, struct syscalls_rows_told *told, struct batch *out)
{
    enum err err = OK;
    struct sample_head head = { clock_realtime_ns(), job_id, false };
    sum_up(rows, memory, job);
    for (size_t i = 0; i < SYSCALLS_ROWS && !err; i++) {
        if (!rows->sums.rows[i].calls)
            continue;
        if (told && !told->rows[i])
            err = give(rows, memory, job, i, (struct sample_head){ told->begun_ns, job_id, true }, out);
        if (!err)
            err = give(rows, memory, job, i, head, out);
        if (told && !err)
            told->rows[i] = true;
    }
    return err;
}
