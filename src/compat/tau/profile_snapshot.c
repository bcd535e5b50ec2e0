/* Cells become snapshots. */
#include "compat/tau/profile_snapshot.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

static enum err add_cell(struct tau_profile *profile, const struct cell *cell)
{
    const struct program_metric *metric = cell->metric;
    double time_s = (double)cell->changed_ns / (double)NS_PER_S;
    if (cell->aliases)
        return OK; /* it is there under tau's names */
    if (metric->kind == PROGRAM_COUNTER && cell->profiled > 0 && cell->total <= cell->profiled)
        return OK; /* nothing is new */
    if (metric->kind == PROGRAM_COUNTER)
        return tau_profile_add(profile, TAU_COUNTER, metric->name.text, metric->doc, cell->total - cell->profiled, time_s);
    if (metric->kind == PROGRAM_GAUGE && cell->left.programs)
        return tau_profile_add(profile, TAU_GAUGE, metric->name.text, metric->doc, cell->left.sum / (double)cell->left.programs,
                               time_s);
    return OK; /* tau has no histograms */
}

bool tau_profile_snapshot_write(struct tau_profile_writer *profiles, const struct scope *scope)
{
    const struct cell *cell;
    struct tau_job job = { .size = -1 };
    struct tau_profile profile;
    enum err err = OK;
    if (!profiles || scope->kind != SCOPE_JOB)
        return false;
    if (scope->job.tau)
        job = *scope->job.tau;
    if (!*job.id)
        snprintf(job.id, sizeof job.id, "%s", scope->id);
    tau_profile_init(&profile, &job);
    LIST_FOREACH(cell, &scope->cells, in_scope)
        err = err ? err : add_cell(&profile, cell);
    if (!err && (profile.count || !scope->job.is_profiled)) /* else only the end of the job would change */
        err = tau_profile_writer_put_take(profiles, &profile);
    if (err)
        log_warn("cannot write the profile of job %s: %s", scope->id, err_text(err));
    tau_profile_clear(&profile);
    return !err;
}

static void note_profiled(struct registry *registry, const struct scope *scope)
{
    struct cell *cell;
    LIST_FOREACH(cell, &scope->cells, in_scope)
        cell->profiled = cell->total;
    registry->has_unsaved = true;
}

void tau_profile_snapshot_write_all(struct tau_profile_writer *profiles, struct registry *registry)
{
    if (!registry)
        return;
    registry_lock(registry);
    const struct scope *scope;
    LIST_FOREACH(scope, &registry->scopes.list, link)
        if (!scope->programs && tau_profile_snapshot_write(profiles, scope))
            note_profiled(registry, scope);
    registry_unlock(registry);
}
