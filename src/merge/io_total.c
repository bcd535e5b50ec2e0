/* A killed process cannot report its I/O, but the kernel adds it to the process that waits for it, and samples of the
 * process tree include it (samplers/process_tree.c): the last sample covers the whole run. If sonde run was killed too,
 * and with it the only receiver of the kernel's total CPU time, the samples also provide that. */
#include "merge/io_total.h"

#include "model/summary.h"

#include <string.h>

/* Upper bound of what the probe reads in a process and at the end of a thread, and of what sonde run reads before it
 * starts the command: included in the sampled rchar, but not in that of the processes. */
#define PROBE_READS 4096
#define START_READS 16384

/* The first page of the spool is written by sonde run before the command starts. A new page is charged to the process
 * that first writes to it: nearly always one of the command's, because they write nearly everything. */
#define PAGE_BYTES 4096

static const struct run_series *tree_series(const struct run *run)
{
    for (size_t i = 0; i < run->series_count; i++)
        if (strcmp(run->series[i].set.name, SUMMARY_TREE_SET) == 0)
            return &run->series[i];
    return NULL;
}

/* The last known value. False if there is none. */
static bool last_sampled(const struct run_series *series, const char *name, uint64_t *value)
{
    size_t size = series->set.size, column = 0;
    while (column < size && strcmp(series->set.metrics[column].name, name) != 0)
        column++;
    for (size_t row = series->count; column < size && row-- > 0;) {
        *value = series->values[row * size + column].u64;
        if (series->known[row * size + column])
            return true;
    }
    return false;
}

static uint64_t probe_reads(const struct run *run)
{
    uint64_t bytes = START_READS;
    for (size_t i = 0; i < run->process_count; i++)
        bytes += (1 + process_threads(&run->processes[i])) * (uint64_t)PROBE_READS;
    return bytes;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* not_sampled, not_reported: what does not belong to the processes in the sampled value and in the sum of their own
 * values. */
static void set_one(struct run *run, const struct run_series *tree, const struct counters *sum, enum counter counter,
                    const char *name, uint64_t not_sampled, uint64_t not_reported)
{
    uint64_t reported = less(counters_get(sum, counter), not_reported), sampled;
    if (!last_sampled(tree, name, &sampled))
        return;
    sampled = less(sampled, not_sampled);
    counters_set(&run->total, counter, sampled > reported ? sampled : reported);
}

/* System time is not sampled separately: everything counts as user time. */
static void set_cpu(struct run *run, const struct run_series *tree, const struct counters *sum)
{
    uint64_t sampled_us, reported_us = counters_cpu_us(sum);
    if (run->ended || !last_sampled(tree, "cpu", &sampled_us))
        return;
    counters_set(&run->total, COUNTER_usertime, sampled_us > reported_us ? sampled_us : reported_us);
}

void io_total_set(struct run *run, uint64_t spool_bytes)
{
    const struct run_series *tree = tree_series(run);
    struct counters sum = { 0 };
    if (!tree)
        return;
    for (size_t i = 0; i < run->process_count; i++)
        counters_add(&sum, &run->processes[i].counters);
    set_cpu(run, tree, &sum);
    set_one(run, tree, &sum, COUNTER_rchar, "rchar", probe_reads(run), 0);
    set_one(run, tree, &sum, COUNTER_wchar, "wchar", 0, 0);
    set_one(run, tree, &sum, COUNTER_read_bytes, "read_bytes", 0, 0);
    set_one(run, tree, &sum, COUNTER_write_bytes, "write_bytes", 0, spool_bytes / PAGE_BYTES * PAGE_BYTES);
}
