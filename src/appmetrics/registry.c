/* Creates and drops metrics and cells within the limits. */
#include "appmetrics/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum err registry_open(struct registry **registry, const struct registry_settings *settings)
{
    struct registry *new = *registry = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    pthread_mutex_init(&new->lock, NULL);
    user_budgets_init(&new->budgets, settings->is_by_user);
    TAILQ_INIT(&new->evicted);
    metric_table_init(&new->metrics);
    quota_init(&new->quota, settings->metrics_max ? settings->metrics_max : REGISTRY_METRICS_MAX);
    new->aliases = settings->aliases;
    new->is_one_job = settings->is_one_job;
    enum err err = scopes_init(&new->scopes, settings->host ? settings->host : "", &new->quota, settings->is_by_user,
                               settings->looks_up_users);
    if (err)
        registry_close(registry);
    return err;
}

static void free_cells(struct program_metric *metric)
{
    while (!LIST_EMPTY(&metric->values.cells))
        cell_free(LIST_FIRST(&metric->values.cells));
    if (metric->values.node)
        cell_free(metric->values.node);
}

void registry_close(struct registry **registry)
{
    struct registry *old = *registry;
    if (!old)
        return;
    registry_free_evicted(old);
    for (size_t i = 0; i < old->metrics.metrics.count; i++)
        if (old->metrics.metrics.items[i])
            free_cells(old->metrics.metrics.items[i]);
    scopes_clear(&old->scopes);
    metric_table_clear(&old->metrics);
    user_budgets_clear(&old->budgets);
    pthread_mutex_destroy(&old->lock);
    free(old);
    *registry = NULL;
}

void registry_lock(struct registry *registry) { pthread_mutex_lock(&registry->lock); }

void registry_unlock(struct registry *registry) { pthread_mutex_unlock(&registry->lock); }

void registry_free_evicted(struct registry *registry)
{
    for (struct program_metric *metric; (metric = TAILQ_FIRST(&registry->evicted));) {
        TAILQ_REMOVE(&registry->evicted, metric, in_family);
        metric_table_free(metric);
    }
}

/* --- cells --- */

static void release_aliases(struct registry *registry, struct cell *cell)
{
    for (struct cell **alias = cell->aliases; alias && *alias; alias++)
        quota_release(&registry->quota, &(*alias)->metric->quota);
    free(cell->aliases);
    cell->aliases = NULL;
}

static void drop_cell(struct registry *registry, struct cell *cell)
{
    struct program_metric *metric = cell->metric;
    struct scope *scope = cell->scope;
    release_aliases(registry, cell);
    registry->has_unsaved |= cell->saved.total > 0 || cell->saved.buckets;
    cell_free(cell);
    if (scope->kind != SCOPE_JOB)
        return;
    quota_return_value(scope_owner(&registry->scopes, scope), metric->quota.slots);
    quota_release(&registry->quota, &metric->quota);
}

/* All aliases are released before any cell is freed, as they are cells of the same scope. */
void registry_drop_scope(struct registry *registry, struct scope *scope)
{
    struct cell *cell;
    LIST_FOREACH(cell, &scope->cells, in_scope)
        release_aliases(registry, cell);
    while (!LIST_EMPTY(&scope->cells))
        drop_cell(registry, LIST_FIRST(&scope->cells));
    scope_free(scope);
}

/* In use from here on, for the cell that has it as an alias. */
static struct cell *alias_cell(struct registry *registry, const struct cell *cell, const struct metric_alias *alias)
{
    struct program_metric *metric;
    struct metric_description description = {
        .name = bytes_of(alias->name), .doc = bytes_of(alias->doc), .unit = { "", 0 }, .kind = PROGRAM_COUNTER,
        .is_alias = true, .scope = cell->scope, .owner = cell->metric->quota.owner,
    };
    if (registry_metric(registry, &description, &metric))
        return NULL;
    quota_use(&registry->quota, &metric->quota);
    struct cell *made = registry_cell(registry, metric, cell->scope);
    if (!made)
        quota_release(&registry->quota, &metric->quota);
    return made;
}

/* Aliases over the limit are left out. */
static enum err create_aliases(struct registry *registry, struct cell *cell)
{
    struct metric_alias list[REGISTRY_ALIASES_MAX];
    bool has_aliases = registry->aliases && cell->metric->kind == PROGRAM_COUNTER;
    size_t count = has_aliases ? registry->aliases(cell->metric, list) : 0, made = 0;
    if (!count)
        return OK;
    cell->aliases = calloc(count + 1, sizeof *cell->aliases);
    if (!cell->aliases)
        return NOMEM;
    for (size_t i = 0; i < count; i++)
        if ((cell->aliases[made] = alias_cell(registry, cell, &list[i])))
            made++;
    return OK;
}

static struct cell *create_cell(struct registry *registry, struct program_metric *metric, struct scope *scope)
{
    struct cell *up = scope->parent ? registry_cell(registry, metric, scope->parent) : NULL;
    struct quota_owner *owner = scope->kind == SCOPE_JOB ? scope_owner(&registry->scopes, scope) : NULL;
    if (scope->parent && !up)
        return NULL;
    if (owner && !quota_take_value(&registry->quota, owner, metric->quota.slots)) {
        registry->stats.left_out++;
        return NULL;
    }
    struct cell *cell = cell_create(metric, scope, up);
    if (cell && create_aliases(registry, cell) == OK)
        return cell;
    if (owner)
        quota_return_value(owner, metric->quota.slots);
    if (cell)
        cell_free(cell);
    return NULL;
}

/* In use meanwhile, since its aliases may have to evict something. A cell of a job goes on using it. */
struct cell *registry_cell(struct registry *registry, struct program_metric *metric, struct scope *scope)
{
    struct cell *cell = cell_find(metric, scope);
    if (cell)
        return cell;
    quota_use(&registry->quota, &metric->quota);
    cell = create_cell(registry, metric, scope);
    if (!cell || scope->kind != SCOPE_JOB)
        quota_release(&registry->quota, &metric->quota);
    return cell;
}

bool registry_create_cells(struct registry *registry, struct contribution *const *contributions, size_t count,
                           struct scope *scope)
{
    for (size_t i = 0; i < count; i++)
        if (contributions[i] && !registry_cell(registry, contributions[i]->cell->metric, scope))
            return false;
    return true;
}

/* --- metrics --- */

static void evict(struct registry *registry, struct program_metric *metric)
{
    quota_remove(&registry->quota, &metric->quota);
    while (!LIST_EMPTY(&metric->values.cells))
        drop_cell(registry, LIST_FIRST(&metric->values.cells));
    if (metric->values.node)
        drop_cell(registry, metric->values.node);
    metric_table_remove(&registry->metrics, metric);
    TAILQ_INSERT_TAIL(&registry->evicted, metric, in_family);
}

/* Evicts idle metrics until this many slots are free. False: over the limit. */
static bool ensure_slots(struct registry *registry, const struct quota_owner *owner, size_t slots)
{
    if (!quota_allows(&registry->quota, owner, slots))
        return false;
    for (struct quota_entry *entry; (entry = quota_eviction(&registry->quota, slots));)
        evict(registry, (struct program_metric *)(void *)((char *)entry - offsetof(struct program_metric, quota)));
    return !quota_is_full(&registry->quota, slots);
}

static struct quota_owner *owner_of(struct registry *registry, const struct metric_description *description)
{
    return description->owner ? description->owner : scope_owner(&registry->scopes, description->scope);
}

static enum err add_metric(struct registry *registry, const struct metric_description *description,
                           struct program_metric **metric)
{
    struct quota_owner *owner = owner_of(registry, description);
    size_t slots = metric_table_slots(&registry->metrics, description);
    if (!ensure_slots(registry, owner, slots))
        return FULL;
    enum err err = metric_table_add(&registry->metrics, description, metric);
    if (err)
        return err;
    quota_add(&registry->quota, &(*metric)->quota, owner, slots);
    bool has_cell = registry_cell(registry, *metric, &registry->scopes.node) != NULL;
    quota_release(&registry->quota, &(*metric)->quota);
    if (!has_cell)
        evict(registry, *metric);
    return has_cell ? OK : NOMEM;
}

static void note_conflict(struct registry *registry, const struct program_metric *metric,
                          const struct metric_description *description)
{
    struct registry_conflict *conflict = &registry->conflict;
    const struct scope *scope = description->scope;
    if (*conflict->name)
        return;
    snprintf(conflict->name, sizeof conflict->name, "%s", metric->name.text);
    conflict->uid = scope && scope->kind != SCOPE_NODE ? scope->uid : geteuid();
    conflict->kind = description->kind;
    conflict->used_kind = metric->kind;
}

/* An unused metric of another type, or with other bounds, is replaced, unless it is of a job that goes on. */
static enum err reuse_metric(struct registry *registry, const struct metric_description *description,
                             struct program_metric **metric)
{
    enum err err = quota_claim(&registry->quota, &(*metric)->quota, owner_of(registry, description));
    if (err || metric_table_is_same(*metric, description))
        return err;
    if ((*metric)->quota.use_count == 0 && !registry->is_one_job) {
        evict(registry, *metric);
        return add_metric(registry, description, metric);
    }
    note_conflict(registry, *metric, description);
    return USAGE;
}

enum err registry_metric(struct registry *registry, const struct metric_description *description,
                         struct program_metric **metric)
{
    *metric = NULL;
    enum err err = description->bound_count > METRIC_BOUNDS_MAX
                   ? USAGE : metric_table_parse(&registry->metrics, description->name, metric);
    if (!err)
        err = *metric ? reuse_metric(registry, description, metric) : add_metric(registry, description, metric);
    registry->stats.refused += err == USAGE;
    registry->stats.left_out += err == FULL;
    if (err)
        *metric = NULL;
    if (err || description->is_alias)
        return err;
    (*metric)->is_alias = false;
    return OK;
}

enum err registry_claim(struct registry *registry, struct program_metric *metric, struct scope *scope)
{
    return quota_claim(&registry->quota, &metric->quota, scope_owner(&registry->scopes, scope));
}

void registry_conflict_write(struct buf *out, const struct registry_conflict *conflict)
{
    static const char *const kinds[] = { "a counter", "a gauge", "a histogram" };
    bool differ_in_bounds = conflict->kind == conflict->used_kind;
    buf_printf(out, "%s is %s in one program and %s in another", conflict->name, kinds[conflict->kind],
               differ_in_bounds ? "one with other bounds" : kinds[conflict->used_kind]);
}
