/* Makes synthetic runs. The tree is made in pre-order with a stack of open parents; times are cut so that children live
 * within their parents. */
#include "fake_run.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS 1700000000000000000ull
#define STEP_NS 1500000ull /* between two births */
#define NS_PER_SAMPLE 1000000000ull

static void *take(struct fake_run *fake, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (fake->used + size > fake->room)
        abort();
    void *memory = fake->memory + fake->used;
    fake->used += size;
    return memset(memory, 0, size);
}

static struct bytes words(struct fake_run *fake, const char *text)
{
    size_t size = strlen(text);
    char *copy = take(fake, size + 1);
    for (size_t i = 0; i <= size; i++)
        copy[i] = i == size || text[i] == ' ' ? '\0' : text[i];
    return (struct bytes){ copy, size + 1 };
}

static uint64_t noise(uint64_t x, uint64_t below)
{
    x = (x + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (x ^ x >> 31) % below;
}

struct kind {
    const char *path, *name, *args;
    int depth; /* in the tree */
    uint64_t cpu_us;
};

/* The first two begin the tree, the others come again and again below make. */
static const struct kind kinds[] = {
    { "/usr/bin/bash", "bash", "/bin/bash build.sh --all", 0, 900 },
    { "/usr/bin/make", "make", "make -j4 all", 1, 5000 },
    { "/usr/bin/dash", "sh", "/bin/sh -c gcc -O2 -c part%zu.c", 2, 600 },
    { "/usr/bin/x86_64-linux-gnu-gcc-12", "gcc", "gcc -O2 -g -Wall -c part%zu.c -o part%zu.o", 3, 1500 },
    { "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "cc1", "cc1 -quiet -O2 part%zu.c -o /tmp/cc%zu.s", 4, 80000 },
    { "/usr/bin/x86_64-linux-gnu-as", "as", "as --64 -o part%zu.o /tmp/cc%zu.s", 4, 4000 },
};

static const struct kind *kind_of(size_t i)
{
    return i < 2 ? &kinds[i] : &kinds[2 + (i - 2) % 4];
}

static void set_counters(struct counters *c, size_t i, uint64_t cpu_us)
{
    uint64_t user_us = cpu_us * 7 / 10;
    counters_set(c, COUNTER_usertime, user_us);
    counters_set(c, COUNTER_systemtime, cpu_us - user_us);
    counters_set(c, COUNTER_rssmax, 2000 + noise(i, 60000));
    counters_set(c, COUNTER_minflt, 150 + noise(i + 1, 4000));
    counters_set(c, COUNTER_majflt, 0);
    counters_set(c, COUNTER_inblock, 0);
    counters_set(c, COUNTER_outblock, noise(i + 2, 64));
    counters_set(c, COUNTER_vol_ctxsw, noise(i + 3, 30));
    counters_set(c, COUNTER_invol_ctxsw, noise(i + 4, 9));
    counters_set(c, COUNTER_cminflt, 0);
    counters_set(c, COUNTER_cmajflt, 0);
    counters_set(c, COUNTER_cutime, 0);
    counters_set(c, COUNTER_cstime, 0);
    counters_set(c, COUNTER_num_threads, 1);
    counters_set(c, COUNTER_starttime, 864000000000ull + i * 10000);
    counters_set(c, COUNTER_processor, noise(i + 5, 64));
    counters_set(c, COUNTER_rchar, 8000 + noise(i + 6, 900000));
    counters_set(c, COUNTER_wchar, noise(i + 7, 90000));
    counters_set(c, COUNTER_syscr, 5 + noise(i + 8, 300));
    counters_set(c, COUNTER_syscw, noise(i + 9, 100));
    counters_set(c, COUNTER_read_bytes, 0);
    counters_set(c, COUNTER_write_bytes, 4096 * noise(i + 10, 20));
    counters_set(c, COUNTER_cancelled_write_bytes, 0);
    counters_set(c, COUNTER_time_oncpu, cpu_us * 1000 + noise(i + 11, 999));
    counters_set(c, COUNTER_time_waiting, 1000 + noise(i + 12, 5000000));
    counters_set(c, COUNTER_timeslices, 1 + noise(i + 13, 40));
}

static uint32_t add_events(struct fake_run *fake, size_t i)
{
    struct run *run = &fake->run;
    if (!run->event_count)
        return UINT32_MAX;
    struct event_count *count = &run->counts[run->counts_count];
    for (size_t e = 0; e < run->event_count; e++) {
        count->known |= 1ull << e;
        count->value[e] = 1000 + noise(i + e, 100000);
    }
    return (uint32_t)run->counts_count++;
}

static void add_threads(struct fake_run *fake, struct process *process, size_t i, unsigned count)
{
    struct run *run = &fake->run;
    process->thread_first = (uint32_t)run->thread_count;
    process->thread_count = count;
    for (unsigned t = 0; t < count; t++) {
        struct thread *thread = &run->threads[run->thread_count++];
        thread->tid = process->pid + t;
        thread->start_ns = process->start_ns + t * 1000;
        thread->end_ns = process->end_ns;
        snprintf(thread->name, sizeof thread->name, "%s/%hu", t ? "worker" : "main", (unsigned short)t);
        set_counters(&thread->counters, i * 31 + t, counters_cpu_us(&process->counters) / count + t);
        thread->events = count > 1 ? add_events(fake, i * 7 + t) : UINT32_MAX;
    }
    counters_set(&process->counters, COUNTER_num_threads, count);
}

static void add_process(struct fake_run *fake, size_t i, const struct fake_shape *shape, uint32_t *open)
{
    const struct kind *kind = kind_of(i);
    struct process *process = &fake->run.processes[i];
    char args[256];
    snprintf(args, sizeof args, kind->args, i, i);
    *process = (struct process){
        .pid = (uint32_t)(300 + i % 32000), .pgid = 300, .sid = 299, .uid = 1000,
        .pgid_known = true, .sid_known = true, .uid_known = true,
        .parent = kind->depth ? open[kind->depth - 1] : PROCESS_NO_PARENT,
        .last = (uint32_t)i,
        .start_ns = fake->run.start_ns + (i + 1) * STEP_NS,
        .state = PROCESS_ENDED, .status_known = true,
        .exit_code = i > 1 && i % 97 == 0, .sources = SEEN_PROBE | SEEN_WAIT,
        .path = bytes_of(kind->path), .name = bytes_of(kind->name), .args = words(fake, args),
        .cwd = bytes_of("/home/somebody/project/src"), .events = UINT32_MAX,
    };
    process->ppid = kind->depth ? fake->run.processes[process->parent].pid : 299;
    set_counters(&process->counters, i, kind->cpu_us + noise(i, 1000));
    process->end_ns = process->start_ns + STEP_NS / 2;
    add_threads(fake, process, i, shape->threads > 1 && i % 10 == 3 ? shape->threads : 1);
    process->events = add_events(fake, i);
    open[kind->depth] = (uint32_t)i;
}

/* Backwards, so that each parent gets what its children have got from theirs. */
static void close_tree(struct run *run)
{
    for (size_t i = run->process_count; i-- > 0;) {
        struct process *process = &run->processes[i];
        process->inclusive_cpu_us += counters_cpu_us(&process->counters);
        if (process->parent == PROCESS_NO_PARENT)
            continue;
        struct process *parent = &run->processes[process->parent];
        parent->inclusive_cpu_us += process->inclusive_cpu_us;
        parent->last = parent->last > process->last ? parent->last : process->last;
        parent->end_ns = parent->end_ns > process->end_ns + 1000 ? parent->end_ns : process->end_ns + 1000;
    }
}

static const struct metric tree_metrics[] = {
    { "cpu", "us", COUNTER, U64, "CPU time of all processes" },
    { "rss", "B", GAUGE, U64, "resident memory of all processes" },
    { "threads", "1", GAUGE, U64, "threads alive" },
};
static const struct metric node_metrics[] = {
    { "load1", "1", GAUGE, F64, "load average of a minute" },
    { "memory_used", "KB", GAUGE, U64, "memory in use" },
};

static void add_series(struct fake_run *fake, const char *name, const struct metric *metrics, size_t size, size_t rows)
{
    struct run_series *series = &fake->run.series[fake->run.series_count++];
    *series = (struct run_series){ .set = { name, metrics, size }, .instance = "", .count = rows };
    series->times_ns = take(fake, rows * sizeof *series->times_ns);
    series->values = take(fake, rows * size * sizeof *series->values);
    series->known = take(fake, rows * size);
    for (size_t row = 0; row < rows; row++) {
        series->times_ns[row] = fake->run.start_ns + row * NS_PER_SAMPLE + noise(row, 50000);
        for (size_t column = 0; column < size; column++) {
            size_t at = row * size + column;
            series->known[at] = row != 1 || column != 1;
            if (!series->known[at])
                continue;
            if (metrics[column].type == F64)
                series->values[at].f64 = (double)noise(row, 400) / 100;
            else if (metrics[column].kind == COUNTER)
                series->values[at].u64 = row * 900000 + noise(row, 90000);
            else
                series->values[at].u64 = 4096 * (5000 + noise(row, 9000));
        }
    }
}

static void set_facts(struct run *run, const struct fake_shape *shape)
{
#define OR(field, otherwise) bytes_of(shape->field ? shape->field : otherwise)
    *run = (struct run){
        .id = OR(run_id, "run-1"), .job_id = OR(job_id, "job-1"), .name = OR(name, "build"), .user = OR(user, "somebody"),
        .command = { "./build.sh\0--all", 17 }, .cwd = bytes_of("/home/somebody/project"),
        .tags = OR(tags, "exp:alpha;member:3"), .uid = 1000,
        .host = { OR(host, "node01"), bytes_of("6.1.0-13-amd64"), bytes_of("Some CPU @ 2.0 GHz"), 16, 64ull << 30 },
        .start_ns = shape->start_ns ? shape->start_ns : START_NS,
        .ended = true, .status_known = true, .exit_code = 2,
        .cores_allowed_milli = 4000, .memory_limit_bytes = 8ull << 30, .period_ns = NS_PER_SAMPLE,
    };
#undef OR
    static const char *const names[] = { "task-clock", "page-faults", "cycles", "instructions" };
    run->event_count = shape->events;
    for (unsigned e = 0; e < shape->events; e++)
        run->events[e] = bytes_of(names[e]);
}

static void get_memory(struct fake_run *fake, const struct fake_shape *shape)
{
    size_t processes = shape->processes, threads = processes + (processes / 10 + 1) * shape->threads;
    fake->used = 0;
    fake->room = 65536 + processes * (sizeof(struct process) + 128) + threads * sizeof(struct thread)
                 + shape->samples * 128 + (shape->events ? (threads + processes) * sizeof(struct event_count) : 0);
    fake->memory = malloc(fake->room);
    if (!fake->memory)
        abort();
    fake->run.processes = take(fake, processes * sizeof *fake->run.processes);
    fake->run.threads = take(fake, threads * sizeof *fake->run.threads);
    if (shape->events)
        fake->run.counts = take(fake, (threads + processes) * sizeof *fake->run.counts);
    fake->run.series = take(fake, 2 * sizeof *fake->run.series);
}

void fake_run_make(struct fake_run *fake, const struct fake_shape *shape)
{
    uint32_t open[8] = { 0 };
    struct run *run = &fake->run;
    assert(shape->processes > 0 && shape->events <= 4);
    set_facts(run, shape);
    get_memory(fake, shape);
    run->process_count = shape->processes;
    for (size_t i = 0; i < shape->processes; i++) {
        add_process(fake, i, shape, open);
        counters_add(&run->total, &run->processes[i].counters);
    }
    close_tree(run);
    run->end_ns = run->processes[0].end_ns + 1000;
    if (shape->samples) {
        add_series(fake, "tree", tree_metrics, 3, shape->samples);
        add_series(fake, "node", node_metrics, 2, shape->samples);
    }
}

void fake_run_clear(struct fake_run *fake)
{
    free(fake->memory);
    *fake = (struct fake_run){ 0 };
}
