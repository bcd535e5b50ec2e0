/* Samples say how much there was in all, the table wants what it has grown by: program_alias.c remembers. */
#include "programs/program_calls.h"

#include "base/clock.h"
#include "model/program_sets.h"
#include "programs/program_alias.h"
#include "programs/program_cells.h"

#include <string.h>

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

static void take(struct program_table *table, struct program_scope *scope, const struct sample *sample)
{
    static const char *const bases[SYSCALL_SIZE] = {
        [SYSCALL_CALLS] = "syscall_calls_total", [SYSCALL_BYTES] = "syscall_bytes_total",
        [SYSCALL_TIME] = "syscall_seconds_total",
    };
    for (size_t i = 0; i < SYSCALL_SIZE; i++)
        if (bases[i] && (!sample->known || sample->known[i]))
            program_alias_count(table, scope, bases[i], sample->instance,
                                (double)sample->values[i].u64 / (i == SYSCALL_TIME ? (double)NS_PER_S : 1));
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
