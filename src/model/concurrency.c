/* A sweep over the starts and ends of all processes and threads of a run, in the order of time. Whether short processes
 * had the machine to themselves is asked of the tree: each long process that is alive must be an ancestor of a short
 * one that is alive. Every long process counts its living short descendants up to the next long ones, plus those long
 * ones that have any; so that a birth or death walks up only as far as it changes something. */
#include "model/concurrency.h"

#include <stdlib.h>

enum { DEATH, BIRTH }; /* at the same ns deaths come first: an image that exec'd and the next one are one process */

struct moment {
    uint64_t key;      /* time_ns << 1 | BIRTH: one number to sort by */
    uint32_t process;
    uint32_t is_thread; /* counts for threads only */
};

struct sweep {
    const struct run *run;
    struct moment *moments;
    size_t count;
    uint32_t *long_ancestor; /* per process: the nearest long one above it, PROCESS_NO_PARENT: none */
    uint32_t *covered_by;    /* per process: living short processes and covered long ones right below it */
    uint8_t *alive;          /* per process */
    size_t live, live_threads, live_short, live_long, live_covered;
};

bool concurrency_is_short(const struct process *process)
{
    return process->start_ns && process->end_ns >= process->start_ns && process->state != PROCESS_RUNNING
           && process->end_ns - process->start_ns < SUMMARY_SHORT_NS;
}

static void add_moments(struct sweep *sweep, uint64_t start_ns, uint64_t end_ns, uint32_t process, uint32_t is_thread)
{
    if (!start_ns || end_ns < start_ns)
        return;
    if (end_ns == start_ns)
        end_ns++;
    sweep->moments[sweep->count++] = (struct moment){ start_ns << 1 | BIRTH, process, is_thread };
    sweep->moments[sweep->count++] = (struct moment){ end_ns << 1 | DEATH, process, is_thread };
}

/* The main thread is the process itself, so only further threads are added. */
static void add_process(struct sweep *sweep, uint32_t i)
{
    const struct process *process = &sweep->run->processes[i];
    add_moments(sweep, process->start_ns, process->end_ns, i, 0);
    for (uint32_t t = 0; process->thread_count > 1 && t < process->thread_count; t++) {
        const struct thread *thread = &sweep->run->threads[process->thread_first + t];
        if (thread->tid != process->pid)
            add_moments(sweep, thread->start_ns, thread->end_ns, i, 1);
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
    uint64_t x = ((const struct moment *)a)->key, y = ((const struct moment *)b)->key;
    return (x > y) - (x < y);
}

/* One more, or one less, below each long process upwards from i, as long as this makes or ends its being covered. */
static void cover(struct sweep *sweep, uint32_t i, bool more)
{
    while (i != PROCESS_NO_PARENT) {
        uint32_t before = sweep->covered_by[i];
        sweep->covered_by[i] = more ? before + 1 : before - 1;
        if (before != (more ? 0 : 1))
            return;
        if (sweep->alive[i])
            sweep->live_covered += more ? 1 : -1;
        i = sweep->long_ancestor[i];
    }
}

static void pass(struct sweep *sweep, const struct moment *moment)
{
    bool birth = moment->key & 1;
    size_t change = birth ? 1 : -1;
    uint32_t i = moment->process;
    sweep->live_threads += change;
    if (moment->is_thread)
        return;
    sweep->live += change;
    sweep->alive[i] = birth;
    if (concurrency_is_short(&sweep->run->processes[i])) {
        sweep->live_short += change;
        cover(sweep, sweep->long_ancestor[i], birth);
    } else {
        sweep->live_long += change;
        sweep->live_covered += sweep->covered_by[i] ? change : 0;
    }
}

static void sweep_all(struct sweep *sweep, struct summary *summary)
{
    uint64_t before_ns = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        uint64_t time_ns = sweep->moments[i].key >> 1;
        if (sweep->live_short && sweep->live_covered == sweep->live_long)
            summary->short_wall_ns += time_ns - before_ns;
        before_ns = time_ns;
        pass(sweep, &sweep->moments[i]);
        if (sweep->live > summary->live_peak)
            summary->live_peak = sweep->live;
        if (sweep->live_threads > summary->threads_peak)
            summary->threads_peak = sweep->live_threads;
    }
}

void concurrency_of_run(struct summary *summary, const struct run *run)
{
    size_t processes = run->process_count, moments = 2 * (processes + run->thread_count);
    struct sweep sweep = { .run = run };
    sweep.moments = malloc((moments + 1) * sizeof *sweep.moments);
    sweep.long_ancestor = malloc((processes + 1) * sizeof *sweep.long_ancestor);
    sweep.covered_by = calloc(processes + 1, sizeof *sweep.covered_by);
    sweep.alive = calloc(processes + 1, 1);
    if (sweep.moments && sweep.long_ancestor && sweep.covered_by && sweep.alive) {
        for (uint32_t i = 0; i < processes; i++)
            add_process(&sweep, i);
        qsort(sweep.moments, sweep.count, sizeof *sweep.moments, compare);
        sweep_all(&sweep, summary);
    }
    free(sweep.moments);
    free(sweep.long_ancestor);
    free(sweep.covered_by);
    free(sweep.alive);
}
