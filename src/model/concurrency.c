/* Goes through the starts and ends of all processes and threads of a run by time.
 *
 * Time counts as spent in short processes while every long process that runs is only an ancestor of running short ones (a
 * shell or make that waits for them): then it is "covered". To decide that without walking the tree at each event, every long
 * process counts its running short descendants down to the next long ones, plus those next long ones that are covered. An
 * event updates the ancestors upwards only as far as their state changes. */
#include "model/concurrency.h"

#include <stdlib.h>

enum { END, START }; /* at the same ns ends come first: an image and its successor after exec are one process */

struct run_event {
    uint64_t key;      /* time_ns << 1 | START: one number to sort by */
    uint32_t process;
    uint32_t is_thread; /* not a process: counts for threads only */
};

struct sweep {
    const struct run *run;
    struct run_event *events;
    size_t count;
    uint32_t *long_ancestor; /* per process: its nearest long ancestor; PROCESS_NO_PARENT: none */
    uint32_t *covered_by;    /* per process: running short and covered long processes directly below it */
    uint8_t *is_running;          /* per process */
    size_t running, running_threads, running_short, running_long, running_covered;
};

bool concurrency_is_short(const struct process *process)
{
    return process->start_ns && process->end_ns >= process->start_ns && process->state != PROCESS_RUNNING
           && process->end_ns - process->start_ns < SUMMARY_SHORT_NS;
}

static void add_events(struct sweep *sweep, uint64_t start_ns, uint64_t end_ns, uint32_t process, uint32_t is_thread)
{
    if (!start_ns || end_ns < start_ns)
        return;
    if (end_ns == start_ns)
        end_ns++;
    sweep->events[sweep->count++] = (struct run_event){ start_ns << 1 | START, process, is_thread };
    sweep->events[sweep->count++] = (struct run_event){ end_ns << 1 | END, process, is_thread };
}

/* The main thread is the process itself: only other threads are added. */
static void add_process(struct sweep *sweep, uint32_t i)
{
    const struct process *process = &sweep->run->processes[i];
    add_events(sweep, process->start_ns, process->end_ns, i, 0);
    for (uint32_t t = 0; process->thread_count > 1 && t < process->thread_count; t++) {
        const struct thread *thread = &sweep->run->threads[process->thread_first + t];
        if (thread->tid != process->pid)
            add_events(sweep, thread->start_ns, thread->end_ns, i, 1);
    }
    uint32_t parent = process->parent;
    if (parent >= i)
        parent = PROCESS_NO_PARENT;
    else if (concurrency_is_short(&sweep->run->processes[parent]))
        parent = sweep->long_ancestor[parent];
    sweep->long_ancestor[i] = parent;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct run_event *)a)->key, y = ((const struct run_event *)b)->key;
    return (x > y) - (x < y);
}

/* Adds or removes one below long process i, and above it as long as that changes whether a process is covered. */
static void cover(struct sweep *sweep, uint32_t i, bool more)
{
    while (i != PROCESS_NO_PARENT) {
        uint32_t before = sweep->covered_by[i];
        sweep->covered_by[i] = more ? before + 1 : before - 1;
        if (before != (more ? 0 : 1))
            return;
        if (sweep->is_running[i])
            sweep->running_covered += more ? 1 : -1;
        i = sweep->long_ancestor[i];
    }
}

static void apply_event(struct sweep *sweep, const struct run_event *event)
{
    bool is_start = event->key & 1;
    size_t change = is_start ? 1 : -1;
    uint32_t i = event->process;
    sweep->running_threads += change;
    if (event->is_thread)
        return;
    sweep->running += change;
    sweep->is_running[i] = is_start;
    if (concurrency_is_short(&sweep->run->processes[i])) {
        sweep->running_short += change;
        cover(sweep, sweep->long_ancestor[i], is_start);
    } else {
        sweep->running_long += change;
        sweep->running_covered += sweep->covered_by[i] ? change : 0;
    }
}

static void apply_events(struct sweep *sweep, struct summary *summary)
{
    uint64_t before_ns = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        uint64_t time_ns = sweep->events[i].key >> 1;
        if (sweep->running_short && sweep->running_covered == sweep->running_long)
            summary->short_wall_ns += time_ns - before_ns;
        before_ns = time_ns;
        apply_event(sweep, &sweep->events[i]);
        if (sweep->running > summary->live_peak)
            summary->live_peak = sweep->running;
        if (sweep->running_threads > summary->threads_peak)
            summary->threads_peak = sweep->running_threads;
    }
}

void concurrency_of_run(struct summary *summary, const struct run *run)
{
    size_t processes = run->process_count, events = 2 * (processes + run->thread_count);
    struct sweep sweep = { .run = run };
    sweep.events = malloc((events + 1) * sizeof *sweep.events);
    sweep.long_ancestor = malloc((processes + 1) * sizeof *sweep.long_ancestor);
    sweep.covered_by = calloc(processes + 1, sizeof *sweep.covered_by);
    sweep.is_running = calloc(processes + 1, 1);
    if (sweep.events && sweep.long_ancestor && sweep.covered_by && sweep.is_running) {
        for (uint32_t i = 0; i < processes; i++)
            add_process(&sweep, i);
        qsort(sweep.events, sweep.count, sizeof *sweep.events, compare);
        apply_events(&sweep, summary);
    }
    free(sweep.events);
    free(sweep.long_ancestor);
    free(sweep.covered_by);
    free(sweep.is_running);
}
