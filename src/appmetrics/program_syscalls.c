/* Samples have totals, and cells get increments: cell.shared remembers the last total. They have the names that our
 * probe uses, and so tau's names too. */
#include "appmetrics/program_syscalls.h"

#include "base/clock.h"
#include "model/program_sets.h"
#include "appmetrics/registry.h"
#include "samplers/jobs/syscalls.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_SIZE 192

static bool is_call_of_job(const struct sample *sample)
{
    return sample->set == &syscall_set && sample->job && sample->instance && !strchr(sample->instance, '/');
}

/* A job that has just ended is no longer known as running; its scope stays for a while, as after its last program. */
static struct scope *scope_of(struct registry *registry, const struct program_jobs *jobs, const struct job *ending,
                                      const char *id)
{
    if (!ending || strcmp(ending->id, id) != 0)
        return program_jobs_scope_of_id(jobs, registry, id);
    struct scope *scope = scopes_job(&registry->scopes, ending->id, ending->uid);
    if (scope)
        scope->left_ns = clock_monotonic_ns();
    return scope;
}

/* As in probe/calls/calls.c. */
static const struct {
    const char *name, *unit, *doc;
    double per_unit;
} counters[SYSCALL_SIZE] = {
    [SYSCALL_CALLS] = { "syscall_calls_total", "", "System calls that returned", 1 },
    [SYSCALL_ERRORS] = { "syscall_errors_total", "", "System calls that failed", 1 },
    [SYSCALL_BYTES] = { "syscall_bytes_total", "bytes", "Bytes that system calls read or wrote", 1 },
    [SYSCALL_TIME] = { "syscall_seconds_total", "seconds", "Time in system calls", (double)NS_PER_S },
};

static struct cell *cell_of(struct registry *registry, struct scope *scope, size_t which, const char *call)
{
    char name[NAME_MAX_SIZE];
    struct program_metric *metric;
    snprintf(name, sizeof name, "%s{call=\"%s\"}", counters[which].name, call);
    struct metric_description description = {
        .name = bytes_of(name), .doc = bytes_of(counters[which].doc), .unit = bytes_of(counters[which].unit),
        .kind = PROGRAM_COUNTER, .scope = scope,
    };
    return registry_metric(registry, &description, &metric) == OK ? registry_cell(registry, metric, scope) : NULL;
}

/* A smaller total than before: the kernel has started to count again. Its samples come from the sampler. When the
 * kernel no longer counts, what programs report continues in samples that begin at 0. */
static void count(struct cell *cell, double total, uint64_t now_ns)
{
    double before = cell->shared.value.total;
    cell->shared.value.total = total;
    if (total != before)
        cell_add(cell, total < before ? total : total - before, now_ns);
    cell->sampling.from_kernel = cell->total;
    cell->sampling.must_restart = true;
}

static void add_sample(struct registry *registry, struct scope *scope, const struct sample *sample)
{
    uint64_t now_ns = clock_realtime_ns();
    for (size_t i = 0; i < SYSCALL_SIZE; i++) {
        if (sample->known && !sample->known[i])
            continue;
        struct cell *cell = cell_of(registry, scope, i, sample->instance);
        if (cell)
            count(cell, (double)sample->values[i].u64 / counters[i].per_unit, now_ns);
    }
}

void program_syscalls_refresh(struct registry *registry)
{
    const char *reason;
    struct scope *scope;
    LIST_FOREACH(scope, &registry->scopes.list, link)
        scope->job.counts_syscalls = scope->kind == SCOPE_JOB && scope->job.is_known
                                     && job_syscalls_state(scope->id, &reason) == OK;
}

bool program_syscalls_are_in(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (is_call_of_job(&batch->samples[i]))
            return true;
    return false;
}

void program_syscalls_add(struct registry *registry, const struct program_jobs *jobs, const struct job *ending,
                        const struct batch *batch)
{
    const char *job = NULL;
    struct scope *scope = NULL;
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        if (!is_call_of_job(sample))
            continue;
        if (!job || strcmp(job, sample->job) != 0)
            scope = scope_of(registry, jobs, ending, sample->job);
        job = sample->job;
        if (scope)
            add_sample(registry, scope, sample);
    }
}
