/* Cells become snapshots. */
#include "compat/tau/profile_snapshot.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

static enum err add_cell(struct tau_profile *profile, const struct program_cell *cell)
{
    const struct program_metric *metric = cell->metric;
    double time_s = (double)cell->changed_ns / (double)NS_PER_S;
    if (cell->aliases)
        return OK; /* tau's tools know it by those names */
    if (metric->kind == PROGRAM_COUNTER && cell->dumped > 0 && cell->total <= cell->dumped)
        return OK; /* nothing is new */
    if (metric->kind == PROGRAM_COUNTER)
        return tau_profile_add(profile, TAU_COUNTER, metric->name, metric->doc, cell->total - cell->dumped, time_s);
    if (metric->kind == PROGRAM_GAUGE && cell->left.programs)
        return tau_profile_add(profile, TAU_GAUGE, metric->name, metric->doc, cell->left.sum / (double)cell->left.programs,
                               time_s);
    return OK; /* tau has no histograms */
}

bool program_profile_put(struct tau_profiles *profiles, const struct program_scope *scope)
{
    struct tau_job job = { .size = -1 };
    struct tau_profile profile;
    enum err err = OK;
    if (!profiles || scope->kind != PROGRAM_JOB)
        return false;
    if (scope->has_tau)
        job = scope->tau;
    if (!*job.id)
        snprintf(job.id, sizeof job.id, "%s", scope->job);
    tau_profile_init(&profile, &job);
    for (const struct program_cell *cell = scope->cells; cell && !err; cell = cell->next_in_scope)
        err = add_cell(&profile, cell);
    if (!err && (profile.count || !scope->is_dumped)) /* else there would be a later end to add, and nothing that ended */
        err = tau_profiles_put_take(profiles, &profile);
    if (err)
        log_warn("the profile of job %s is not written: %s", scope->job, err_text(err));
    tau_profile_clear(&profile);
    return !err;
}

static void note_dumped(struct program_table *table, const struct program_scope *scope)
{
    for (struct program_cell *cell = scope->cells; cell; cell = cell->next_in_scope)
        cell->dumped = cell->total;
    table->has_news_to_keep = true;
}

void program_profile_put_all(struct tau_profiles *profiles, struct program_table *table)
{
    if (!table)
        return;
    program_table_lock(table);
    for (const struct program_scope *scope = table->scopes; scope; scope = scope->next)
        if (!scope->programs && program_profile_put(profiles, scope))
            note_dumped(table, scope);
    program_table_unlock(table);
}
