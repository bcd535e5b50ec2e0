/* /proc/PID/io of all processes minus what went through libc. */
#include "merge/other_syscalls.h"

#include "model/program_sets.h"

#include <string.h>

/* Calls that the kernel counts as reading or writing in /proc/PID/io; those specific to sockets it does not. */
static const char *const reads[] = { "read", "pread64", "readv", "preadv", "preadv2", "sendfile", "copy_file_range", NULL };
static const char *const writes[] = { "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile",
                                      "copy_file_range", NULL };

/* A sum is unknown if one relevant part is unknown. */
struct amount {
    uint64_t calls, bytes;
    bool calls_known, bytes_known;
};

static bool contains(const char *const *names, const char *name)
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

/* The last sample is the total. */
static void add_last(const struct run_series *series, struct amount *sum)
{
    size_t row = (series->count - 1) * series->set.size;
    if (series->known[row + SYSCALL_CALLS])
        sum->calls += series->values[row + SYSCALL_CALLS].u64;
    if (series->known[row + SYSCALL_BYTES])
        sum->bytes += series->values[row + SYSCALL_BYTES].u64;
}

static struct amount counted_in_libc(const struct run *run, const char *const *names)
{
    struct amount sum = { 0 };
    for (size_t i = 0; i < run->series_count; i++)
        if (is_syscall(&run->series[i]) && contains(names, run->series[i].instance))
            add_last(&run->series[i], &sum);
    return sum;
}

/* An unprobed process was not counted in libc: if the kernel has no data of it either, it adds nothing. A killed
 * process may have been counted in libc, and the difference would subtract its calls from those of the others: then the
 * sum is unknown. */
static void add_process(const struct process *process, enum counter calls, enum counter bytes, struct amount *sum)
{
    bool has_calls = counters_has(&process->counters, calls), has_bytes = counters_has(&process->counters, bytes);
    bool matters = has_calls || has_bytes || process->sources & SEEN_PROBE;
    sum->calls += counters_get(&process->counters, calls);
    sum->bytes += counters_get(&process->counters, bytes);
    sum->calls_known &= has_calls || !matters;
    sum->bytes_known &= has_bytes || !matters;
}

static struct amount counted_by_kernel(const struct run *run, enum counter calls, enum counter bytes)
{
    struct amount sum = { .calls_known = true, .bytes_known = true };
    for (size_t i = 0; i < run->process_count; i++)
        add_process(&run->processes[i], calls, bytes, &sum);
    return sum;
}

static uint64_t difference(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

/* Unknown if less than went through libc: the kernel does not count calls that it rejects at once, and the bytes of
 * killed processes are rounded to KiB. */
static struct amount excess(struct amount kernel, struct amount libc)
{
    return (struct amount){
        .calls = difference(kernel.calls, libc.calls), .calls_known = kernel.calls_known && kernel.calls >= libc.calls,
        .bytes = difference(kernel.bytes, libc.bytes), .bytes_known = kernel.bytes_known && kernel.bytes >= libc.bytes,
    };
}

/* Writes one series with one sample to out. */
static enum err create_series(const struct run *run, struct arena *arena, const char *instance, struct amount other,
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
    out->known[SYSCALL_CALLS] = other.calls_known;
    out->known[SYSCALL_BYTES] = other.bytes_known;
    out->values[SYSCALL_CALLS].u64 = other.calls;
    out->values[SYSCALL_BYTES].u64 = other.bytes;
    return OK;
}

static enum err append(struct run *run, struct arena *arena, const char *instance, struct amount other)
{
    if (!(other.calls_known && other.calls) && !(other.bytes_known && other.bytes))
        return OK;
    struct run_series *all = arena_alloc(arena, run->series_count + 1, sizeof *all);
    if (!all)
        return NOMEM;
    memcpy(all, run->series, run->series_count * sizeof *all);
    enum err err = create_series(run, arena, instance, other, &all[run->series_count]);
    if (err)
        return err;
    run->series = all;
    run->series_count++;
    return OK;
}

enum err other_syscalls_add(struct run *run, struct arena *arena)
{
    if (!is_counted_in_libc(run))
        return OK;
    struct amount read = counted_by_kernel(run, COUNTER_syscr, COUNTER_rchar);
    struct amount written = counted_by_kernel(run, COUNTER_syscw, COUNTER_wchar);
    enum err err = append(run, arena, "read/other", excess(read, counted_in_libc(run, reads)));
    if (!err)
        err = append(run, arena, "write/other", excess(written, counted_in_libc(run, writes)));
    return err;
}
