/* /proc/PID/io of all processes, less what passed libc. */
#include "collect/calls_floor.h"

#include "model/program_sets.h"

#include <string.h>

/* The calls that the kernel counts as reading, or as writing; those on sockets alone it does not. */
static const char *const reads[] = { "read", "pread64", "readv", "preadv", "preadv2", "sendfile", "copy_file_range", NULL };
static const char *const writes[] = { "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range", NULL };

struct amount {
    uint64_t calls, bytes;
};

static bool lists(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static bool is_counted_in_libc(const struct run *run)
{
    for (size_t i = 0; i < run->series_count; i++) {
        const struct run_series *series = &run->series[i];
        if (strcmp(series->set.name, syscall_way_set.name) == 0 && series->count && series->known[0])
            return series->values[0].u64 == SYSCALL_WAY_LIBC;
    }
    return false;
}

static bool is_syscall(const struct run_series *series)
{
    return strcmp(series->set.name, syscall_set.name) == 0 && series->set.size == SYSCALL_SIZE && series->count > 0;
}

/* The last sample is the whole. */
static void add_last(const struct run_series *series, struct amount *sum)
{
    size_t row = (series->count - 1) * series->set.size;
    if (series->known[row + SYSCALL_CALLS])
        sum->calls += series->values[row + SYSCALL_CALLS].u64;
    if (series->known[row + SYSCALL_BYTES])
        sum->bytes += series->values[row + SYSCALL_BYTES].u64;
}

static struct amount seen_in_libc(const struct run *run, const char *const *names)
{
    struct amount sum = { 0 };
    for (size_t i = 0; i < run->series_count; i++)
        if (is_syscall(&run->series[i]) && lists(names, run->series[i].instance))
            add_last(&run->series[i], &sum);
    return sum;
}

static struct amount seen_by_kernel(const struct run *run, enum counter calls, enum counter bytes)
{
    struct amount sum = { 0 };
    for (size_t i = 0; i < run->process_count; i++) {
        sum.calls += counters_get(&run->processes[i].counters, calls);
        sum.bytes += counters_get(&run->processes[i].counters, bytes);
    }
    return sum;
}

/* Writes one series of one sample to out. */
static enum err make_series(const struct run *run, struct arena *arena, const char *instance, struct amount other,
                            struct run_series *out)
{
    *out = (struct run_series){ .set = syscall_set, .instance = instance, .count = 1 };
    out->times_ns = arena_alloc(arena, 1, sizeof *out->times_ns);
    out->values = arena_alloc(arena, SYSCALL_SIZE, sizeof *out->values);
    out->known = arena_alloc(arena, SYSCALL_SIZE, 1);
    if (!out->times_ns || !out->values || !out->known)
        return NOMEM;
    out->times_ns[0] = run->end_ns;
    memset(out->known, 0, SYSCALL_SIZE);
    out->known[SYSCALL_CALLS] = out->known[SYSCALL_BYTES] = 1;
    out->values[SYSCALL_CALLS].u64 = other.calls;
    out->values[SYSCALL_BYTES].u64 = other.bytes;
    return OK;
}

static enum err append(struct run *run, struct arena *arena, const char *instance, struct amount kernel, struct amount libc)
{
    struct amount other = { kernel.calls > libc.calls ? kernel.calls - libc.calls : 0,
                            kernel.bytes > libc.bytes ? kernel.bytes - libc.bytes : 0 };
    if (!other.calls && !other.bytes)
        return OK;
    struct run_series *all = arena_alloc(arena, run->series_count + 1, sizeof *all);
    if (!all)
        return NOMEM;
    memcpy(all, run->series, run->series_count * sizeof *all);
    enum err err = make_series(run, arena, instance, other, &all[run->series_count]);
    if (err)
        return err;
    run->series = all;
    run->series_count++;
    return OK;
}

enum err calls_floor_add(struct run *run, struct arena *arena)
{
    if (!is_counted_in_libc(run))
        return OK;
    enum err err = append(run, arena, "read/other", seen_by_kernel(run, COUNTER_syscr, COUNTER_rchar), seen_in_libc(run, reads));
    if (!err)
        err = append(run, arena, "write/other", seen_by_kernel(run, COUNTER_syscw, COUNTER_wchar), seen_in_libc(run, writes));
    return err;
}
