/* Adds up the rows of all CPUs; a call that returns bytes is the sum over its classes. */
#include "syscalls/ebpf_rows.h"

#include "base/clock.h"
#include "base/vec.h"
#include "model/program_sets.h"
#include "syscalls/ebpf.h"
#include "syscalls/syscall_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(EBPF_CALLS == SYSCALL_NAMES_MAX, "a row for each call");
_Static_assert(EBPF_BUCKETS == SYSCALL_BUCKETS, "as many buckets as the metric set");

#define NAME_SIZE 80

/* File systems by magic number; some are not in any header. */
static const struct {
    uint64_t magic;
    const char *name;
} known_file_systems[] = {
    { 0xef53, "ext4" }, { 0x58465342, "xfs" }, { 0x9123683e, "btrfs" }, { 0x2fc12fc1, "zfs" }, { 0x01021994, "tmpfs" },
    { 0x858458f6, "ramfs" }, { 0x794c7630, "overlay" }, { 0x6969, "nfs" }, { 0x0bd00bd0, "lustre" }, { 0x47504653, "gpfs" },
    { 0x19830326, "beegfs" }, { 0x00c36400, "ceph" }, { 0xaad7aaea, "panfs" }, { 0x65735546, "fuse" }, { 0x9fa0, "proc" },
    { 0x62656572, "sysfs" }, { 0x27e0eb, "cgroup" }, { 0x63677270, "cgroup2" }, { 0x958458f6, "hugetlbfs" }, { 0x01021997, "9p" },
    { 0x73717368, "squashfs" }, { 0xff534d42, "cifs" }, { 0xfe534d42, "smb" }, { 0x4d44, "vfat" }, { 0xf2f52010, "f2fs" },
    { 0x64626720, "debugfs" }, { 0x74726163, "tracefs" }, { 0xcafe4a11, "bpf" }, { 0x5346414f, "afs" }, { 0x7461636f, "ocfs2" },
    { 0x01161970, "gfs2" }, { 0x20030528, "orangefs" }, { 0x786f4256, "vboxsf" }, { 0x6a656a63, "virtiofs" }, { 0x3434, "nilfs" },
    { 0x19800202, "mqueue" },
};

#define ANONYMOUS 0x09041934 /* eventfd and the like, which newer kernels treat as files */

/* The name of an inode type. These are part of instance names and must not change. */
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

static void write_class(char *name, size_t capacity, uint32_t class, const uint64_t *systems)
{
    if (class < EBPF_CLASS_FILE_SYSTEM) {
        snprintf(name, capacity, "%s", class_name(class));
        return;
    }
    uint64_t magic = systems[class - EBPF_CLASS_FILE_SYSTEM];
    for (size_t i = 0; i < sizeof known_file_systems / sizeof *known_file_systems; i++)
        if (known_file_systems[i].magic == magic) {
            snprintf(name, capacity, "file:%s", known_file_systems[i].name);
            return;
        }
    if (magic == ANONYMOUS)
        snprintf(name, capacity, "anonymous");
    else
        snprintf(name, capacity, "file:0x%llx", (unsigned long long)magic);
}

/* process_vm_readv and process_vm_writev take a pid, not a descriptor. */
static bool has_descriptor(unsigned number)
{
    const char *name = syscall_names_find(number);
    return name && strncmp(name, "process_vm_", 11) != 0;
}

void ebpf_rows_init(struct ebpf_rows *rows)
{
    static const char *const exits[2] = { "exit", "exit_group" };
    static const char *const births[EBPF_FORK_CALLS] = { "fork", "vfork", "clone", "clone3" };
    struct ebpf_constants *constants = &rows->constants;
    *rows = (struct ebpf_rows){ 0 };
    for (unsigned i = 0; i < EBPF_CALLS; i++) {
        int same = syscall_names_from_i386(i);
        constants->numbers_32[i] = same >= 0 ? (uint16_t)same : EBPF_CALL_OTHER;
        if (syscall_names_result(i) == SYSCALL_RESULT_OTHER)
            continue;
        constants->results[i] = EBPF_RESULT_BYTES;
        if (rows->group_count < EBPF_CLASS_GROUPS && has_descriptor(i)) {
            constants->results[i] = (uint8_t)(EBPF_RESULT_BYTES_BY_CLASS + rows->group_count);
            rows->group_number[rows->group_count++] = (uint16_t)i;
        }
    }
    rows->sigreturn = (uint16_t)syscall_names_number("rt_sigreturn");
    for (size_t i = 0; i < 2; i++)
        constants->exit_numbers[i] = (uint16_t)syscall_names_number(exits[i]);
    for (size_t i = 0; i < EBPF_FORK_CALLS; i++) /* calls that this machine lacks get a number that no call has */
        constants->fork_numbers[i] = (uint16_t)syscall_names_number(births[i]);
#ifdef __aarch64__
    constants->lost_number = (uint16_t)syscall_names_number("execve"); /* exec resets the registers */
#else
    constants->lost_number = rows->sigreturn; /* it restores all registers */
#endif
}

/* Bounded by the number of calls and file systems of this machine. */
const char *ebpf_rows_intern(const char *name)
{
    static char **kept;
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i], name) == 0)
            return kept[i];
    if (array_resize(kept, count + 1))
        return NULL;
    kept[count] = strdup(name);
    return kept[count] ? kept[count++] : NULL;
}

const char *ebpf_rows_name(struct ebpf_rows *rows, size_t row, const uint64_t *systems)
{
    char number_name[SYSCALL_NAME_MAX], class[NAME_SIZE / 2], name[NAME_SIZE];
    if (rows->names[row])
        return rows->names[row];
    if (row < EBPF_CALLS) {
        snprintf(name, sizeof name, "%s", syscall_names_write((unsigned)row, number_name));
    } else {
        size_t group = (row - EBPF_CALLS) / EBPF_CLASSES;
        write_class(class, sizeof class, (row - EBPF_CALLS) % EBPF_CLASSES, systems);
        snprintf(name, sizeof name, "%s/%s", syscall_names_write(rows->group_number[group], number_name), class);
    }
    return rows->names[row] = ebpf_rows_intern(name);
}

static void add_row(struct ebpf_row *sum, const struct ebpf_row *row)
{
    sum->calls += __atomic_load_n(&row->calls, __ATOMIC_RELAXED);
    sum->errors += __atomic_load_n(&row->errors, __ATOMIC_RELAXED);
    sum->bytes += __atomic_load_n(&row->bytes, __ATOMIC_RELAXED);
    sum->time_ns += __atomic_load_n(&row->time_ns, __ATOMIC_RELAXED);
}

static void sum_up(struct ebpf_rows *rows, const struct ebpf_memory *memory, const struct ebpf_job_memory *job)
{
    struct ebpf_row *sums = rows->sums.rows;
    memset(&rows->sums, 0, sizeof rows->sums);
    for (uint32_t cpu = 0; cpu < memory->cpu_count; cpu++)
        for (size_t i = 0; i < EBPF_ROWS; i++) {
            add_row(&sums[i], &job->blocks[cpu].rows[i]);
            if (job->times)
                add_row(&sums[i], &job->times[cpu].rows[i]);
        }
    for (size_t i = EBPF_CALLS; i < EBPF_ROWS; i++)
        add_row(&sums[rows->group_number[(i - EBPF_CALLS) / EBPF_CLASSES]], &sums[i]);
    sums[rows->sigreturn].errors = 0; /* its result is that of the call that the signal interrupted */
}

/* Common to all samples of a reading. */
struct sample_head {
    uint64_t time_ns;
    const char *job_id;
    bool is_beginning; /* all values are 0 */
};

static enum err sample_row(struct ebpf_rows *rows, const struct ebpf_memory *memory, size_t row,
                           struct sample_head head,
                           struct batch *out)
{
    static const struct ebpf_row nothing;
    const struct ebpf_row *sum = head.is_beginning ? &nothing : &rows->sums.rows[row];
    const char *name = ebpf_rows_name(rows, row, memory->systems);
    struct sample *sample = name ? batch_add(out, &syscall_set, head.time_ns, name) : NULL;
    if (!sample)
        return NOMEM;
    sample->job = head.job_id;
    sample_set_u64(sample, SYSCALL_CALLS, sum->calls);
    sample_set_u64(sample, SYSCALL_ERRORS, sum->errors);
    if (row >= EBPF_CALLS || rows->constants.results[row])
        sample_set_u64(sample, SYSCALL_BYTES, sum->bytes);
    if (rows->sums.rows[row].time_ns) /* a call that returned has some; the others were not measured */
        sample_set_u64(sample, SYSCALL_TIME, sum->time_ns);
    return OK;
}

static enum err sample_times(struct ebpf_rows *rows, const struct ebpf_memory *memory,
                             const struct ebpf_job_memory *job,
                             size_t number, struct sample_head head, struct batch *out)
{
    struct sample *sample = batch_add(out, &syscall_time_set, head.time_ns, rows->names[number]);
    if (!sample)
        return NOMEM;
    sample->job = head.job_id;
    for (size_t i = 0; i < EBPF_BUCKETS; i++) {
        uint64_t count = 0;
        for (uint32_t cpu = 0; cpu < memory->cpu_count && !head.is_beginning; cpu++)
            count += __atomic_load_n(&job->times[cpu].times[number].count[i], __ATOMIC_RELAXED);
        sample_set_u64(sample, i, count);
    }
    return OK;
}

/* Adds a row, with its times if it has any. */
static enum err sample_call(struct ebpf_rows *rows, const struct ebpf_memory *memory, const struct ebpf_job_memory *job,
                            size_t row,
                            struct sample_head head, struct batch *out)
{
    enum err err = sample_row(rows, memory, row, head, out);
    return !err && job->times && row < EBPF_CALLS ? sample_times(rows, memory, job, row, head, out) : err;
}

enum err ebpf_rows_sample(struct ebpf_rows *rows, const struct ebpf_memory *memory, const struct ebpf_job_memory *job,
                          const char *job_id, struct ebpf_rows_reported *reported, struct batch *out)
{
    enum err err = OK;
    struct sample_head head = { clock_realtime_ns(), job_id, false };
    sum_up(rows, memory, job);
    for (size_t i = 0; i < EBPF_ROWS && !err; i++) {
        if (!rows->sums.rows[i].calls)
            continue;
        if (reported && !reported->rows[i])
            err = sample_call(rows, memory, job, i, (struct sample_head){ reported->begun_ns, job_id, true }, out);
        if (!err)
            err = sample_call(rows, memory, job, i, head, out);
        if (reported && !err)
            reported->rows[i] = true;
    }
    return err;
}
