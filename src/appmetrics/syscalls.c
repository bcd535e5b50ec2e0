/* Samples say how much there was in all, the table wants what it has grown by: the cell remembers. They stand there under the
 * names that programs give them which count for themselves, and so under tau's too. */
#include "appmetrics/syscalls.h"

#include "base/clock.h"
#include "model/program_sets.h"
#include "appmetrics/cells.h"
#include "samplers/jobs/syscalls.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_SIZE 192

static bool is_call_of_job(const struct sample *sample)
{
    return sample->set == &syscall_set && sample->job && sample->instance && !strchr(sample->instance, '/');
}

/* One that ends just now is no longer among those that run, and is shown for a while like one whose programs have gone. */
static struct program_scope *scope_of(struct program_table *table, const struct program_jobs *jobs, const struct job *ending,
                                      const char *id)
{
    if (!ending || strcmp(ending->id, id) != 0)
        return program_jobs_named(jobs, table, id);
    struct program_scope *scope = program_scope_job(table, ending->id, ending->uid);
    if (scope)
        scope->left_ns = clock_monotonic_ns();
    return scope;
}

/* As probe/calls/calls.c describes them. */
static const struct {
    const char *name, *unit, *doc;
    double per_unit;
} counters[SYSCALL_SIZE] = {
    [SYSCALL_CALLS] = { "syscall_calls_total", "", "System calls that returned", 1 },
    [SYSCALL_ERRORS] = { "syscall_errors_total", "", "System calls that failed", 1 },
    [SYSCALL_BYTES] = { "syscall_bytes_total", "bytes", "Bytes that system calls read or wrote", 1 },
    [SYSCALL_TIME] = { "syscall_seconds_total", "seconds", "Time in system calls", (double)NS_PER_S },
};

static struct program_cell *cell_of(struct program_table *table, struct program_scope *scope, size_t which, const char *call)
{
    char name[NAME_MAX_SIZE];
    struct program_metric *metric;
    snprintf(name, sizeof name, "%s{call=\"%s\"}", counters[which].name, call);
    struct program_description description = {
        .name = bytes_of(name), .doc = bytes_of(counters[which].doc), .unit = bytes_of(counters[which].unit),
        .kind = PROGRAM_COUNTER, .scope = scope,
    };
    return program_table_metric(table, &description, &metric) == OK ? program_cell_of(table, metric, scope) : NULL;
}

/* A smaller number than before: it was begun anew. The sensor gives the samples of that; what programs count when the kernel does
 * no longer stands in samples that begin at 0 behind them. */
static void count(struct program_table *table, struct program_cell *cell, double whole, uint64_t now_ns)
{
    double before = cell->shared.value;
    cell->shared.value = whole;
    if (whole != before)
        program_cell_add(table, cell, whole < before ? whole : whole - before, now_ns);
    cell->counted = cell->total;
    cell->begins_anew = true;
}

static void take(struct program_table *table, struct program_scope *scope, const struct sample *sample)
{
    uint64_t now_ns = clock_realtime_ns();
    for (size_t i = 0; i < SYSCALL_SIZE; i++) {
        if (sample->known && !sample->known[i])
            continue;
        struct program_cell *cell = cell_of(table, scope, i, sample->instance);
        if (cell)
            count(table, cell, (double)sample->values[i].u64 / counters[i].per_unit, now_ns);
    }
}

void program_calls_settle(struct program_table *table)
{
    const char *why;
    for (struct program_scope *scope = table->scopes; scope; scope = scope->next)
        scope->by_kernel = scope->kind == PROGRAM_JOB && scope->is_known && job_syscalls_state(scope->job, &why) == OK;
}

bool program_calls_are_in(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (is_call_of_job(&batch->samples[i]))
            return true;
    return false;
}

void program_calls_take(struct program_table *table, const struct program_jobs *jobs, const struct job *ending,
                        const struct batch *batch)
{
    const char *job = NULL;
    struct program_scope *scope = NULL;
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        if (!is_call_of_job(sample))
            continue;
        if (!job || strcmp(job, sample->job) != 0)
            scope = scope_of(table, jobs, ending, sample->job);
        job = sample->job;
        if (scope)
            take(table, scope, sample);
    }
}
