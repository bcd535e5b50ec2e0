/* Who is killed tells nobody what it read and wrote, but the kernel adds it to those who wait for it, and the samples
 * of the tree have it from there (samplers/process_tree.c): their last one is the whole run. Where sonde run was
 * killed too, which alone hears the kernel's sum of CPU time, they have that as well. */
#include "merge/io_total.h"

#include "model/summary.h"

#include <string.h>

/* At most what the probe reads in a program and at a thread's end, and what we do before the command begins: the samples have it
 * among rchar, the processes have not. */
#define PROBE_READS 4096
#define START_READS 16384

/* The first page is our own, written before the command begins. Who came to a new one is charged with it: nearly always a
 * program, since nearly all that is written is theirs. */
#define PAGE_BYTES 4096

static const struct run_series *tree_series(const struct run *run)
{
    for (size_t i = 0; i < run->series_count; i++)
        if (strcmp(run->series[i].set.name, SUMMARY_TREE_SET) == 0)
            return &run->series[i];
    return NULL;
}

/* The last that is known. False: none is. */
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

/* not_sampled, not_told: what is not theirs in what was sampled, and in what they told. */
static void set_one(struct run *run, const struct run_series *tree, const struct counters *sum, enum counter counter,
                    const char *name, uint64_t not_sampled, uint64_t not_told)
{
    uint64_t told = less(counters_get(sum, counter), not_told), sampled;
    if (!last_sampled(tree, name, &sampled))
        return;
    sampled = less(sampled, not_sampled);
    counters_set(&run->total, counter, sampled > told ? sampled : told);
}

/* How much of it was in the kernel is not sampled: all of it is user time. */
static void set_cpu(struct run *run, const struct run_series *tree, const struct counters *sum)
{
    uint64_t sampled_us, told_us = counters_cpu_us(sum);
    if (run->ended || !last_sampled(tree, "cpu", &sampled_us))
        return;
    counters_set(&run->total, COUNTER_usertime, sampled_us > told_us ? sampled_us : told_us);
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
