/* A program adds to the cell of its job, and through it to those of its user and of the node. */
#include "appmetrics/cells.h"

#include "base/clock.h"
#include "appmetrics/tau_names.h"
#include "appmetrics/quota.h"
#include "model/prom_label.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX_MAX 4096

static size_t place_of(const char *id, uint32_t uid)
{
    return (program_table_hash(bytes_of(id)) ^ uid * 2654435761u) % PROGRAM_SCOPES_HASH;
}

static struct program_scope *find(const struct program_table *table, enum program_scope_kind kind, const char *id, uint32_t uid)
{
    struct program_scope *scope = table->scope_hash[place_of(id, uid)];
    while (scope && !(scope->kind == kind && scope->uid == uid && (!id || strcmp(scope->job, id) == 0)))
        scope = scope->next_in_hash;
    return scope;
}

static struct program_scope *make(struct program_table *table, enum program_scope_kind kind, const char *id, uint32_t uid)
{
    struct program_scope *scope = calloc(1, sizeof *scope);
    if (!scope)
        return NULL;
    *scope = (struct program_scope){ .kind = kind, .uid = uid, .job = id ? strdup(id) : NULL, .next = table->scopes };
    if (id && !scope->job) {
        free(scope);
        return NULL;
    }
    buf_init(&scope->suffix, SUFFIX_MAX);
    scope->is_unnamed = table->names_users;
    scope->left_ns = clock_monotonic_ns();
    if (scope->next)
        scope->next->previous = scope;
    table->scopes = scope;
    if (kind == PROGRAM_USER) {
        scope->next_user = table->users;
        table->users = scope;
    }
    struct program_scope **slot = &table->scope_hash[place_of(id, uid)];
    scope->next_in_hash = *slot;
    *slot = scope;
    program_scope_name(table, scope);
    return scope;
}

static struct program_scope *find_user(struct program_table *table, uint32_t uid)
{
    return table->by_user ? find(table, PROGRAM_USER, NULL, uid) : &table->node;
}

struct program_scope *program_scope_user(struct program_table *table, uint32_t uid)
{
    struct program_scope *scope = find_user(table, uid);
    return scope ? scope : make(table, PROGRAM_USER, NULL, uid);
}

struct program_scope *program_scope_find(const struct program_table *table, const char *id, uint32_t uid)
{
    return find(table, PROGRAM_JOB, id, uid);
}

struct program_scope *program_scope_job(struct program_table *table, const char *id, uint32_t uid)
{
    struct program_scope *scope = find(table, PROGRAM_JOB, id, uid), *user = scope ? NULL : program_scope_user(table, uid);
    if (user && (scope = make(table, PROGRAM_JOB, id, uid)))
        user->job_count++;
    return scope;
}

void program_scope_join(struct program_scope *scope) { scope->programs++; }

void program_scope_leave(struct program_scope *scope)
{
    scope->programs--;
    scope->left_ns = clock_monotonic_ns();
}

const char *program_scope_user_name(const struct program_scope *scope, char number[PROGRAM_NUMBER_MAX])
{
    snprintf(number, PROGRAM_NUMBER_MAX, "%u", scope->uid);
    return *scope->user ? scope->user : number;
}

/* Who has no name is told by number: programs of several users may name the same job, and each has series of its own. */
void program_scope_name(struct program_table *table, struct program_scope *scope)
{
    struct buf labels;
    char number[PROGRAM_NUMBER_MAX];
    buf_init(&labels, SUFFIX_MAX);
    metrics_label_add(&labels, true, "host", table->host);
    if (scope->job)
        metrics_label_add(&labels, false, "job", scope->job);
    if (scope->kind == PROGRAM_USER || *scope->user || (scope->job && table->names_users))
        metrics_label_add(&labels, false, "user", program_scope_user_name(scope, number));
    buf_add_text(&labels, "} ");
    buf_reset(&scope->suffix);
    if (labels.size)
        buf_add(&scope->suffix, labels.data + 1, labels.size - 1); /* a metric's own labels begin the braces */
    buf_clear(&labels);
}

void program_cell_clean(struct program_table *table, struct program_cell *cell)
{
    if (!cell->is_dirty)
        return;
    if (cell->previous_dirty)
        cell->previous_dirty->next_dirty = cell->next_dirty;
    else
        table->dirty = cell->next_dirty;
    if (cell->next_dirty)
        cell->next_dirty->previous_dirty = cell->previous_dirty;
    cell->is_dirty = false;
    cell->next_dirty = cell->previous_dirty = NULL;
}

static void unlink_cell(struct program_cell *cell)
{
    if (cell->previous)
        cell->previous->next = cell->next;
    else
        cell->metric->cells = cell->next;
    if (cell->next)
        cell->next->previous = cell->previous;
    cell->metric->cell_count--;
    if (cell->previous_in_scope)
        cell->previous_in_scope->next_in_scope = cell->next_in_scope;
    else
        cell->scope->cells = cell->next_in_scope;
    if (cell->next_in_scope)
        cell->next_in_scope->previous_in_scope = cell->previous_in_scope;
    cell->scope->cell_count--;
}

static void drop_aliases(struct program_table *table, struct program_cell *cell)
{
    for (struct program_cell **alias = cell->aliases; alias && *alias; alias++)
        program_room_leave(table, (*alias)->metric);
    free(cell->aliases);
    cell->aliases = NULL;
}

static void drop_cell(struct program_table *table, struct program_cell *cell)
{
    struct program_scope *user = cell->scope->kind == PROGRAM_JOB ? find_user(table, cell->scope->uid) : NULL;
    if (user)
        user->job_cells -= cell->metric->places;
    program_cell_clean(table, cell);
    drop_aliases(table, cell);
    unlink_cell(cell);
    if (cell->scope->kind == PROGRAM_JOB)
        program_room_leave(table, cell->metric);
    table->has_news_to_keep |= cell->kept > 0 || cell->kept_buckets;
    free(cell->buckets);
    free(cell->kept_buckets);
    free(cell);
}

void program_cells_drop(struct program_table *table, struct program_metric *metric)
{
    program_cell_clean(table, &metric->node);
    drop_aliases(table, &metric->node);
    for (struct program_cell *cell = metric->cells, *next; cell; cell = next) {
        next = cell->next;
        drop_cell(table, cell);
    }
}

static void unlink_scope(struct program_table *table, struct program_scope *scope)
{
    if (scope->previous)
        scope->previous->next = scope->next;
    else
        table->scopes = scope->next;
    if (scope->next)
        scope->next->previous = scope->previous;
    struct program_scope **at = &table->scope_hash[place_of(scope->job, scope->uid)];
    while (*at != scope)
        at = &(*at)->next_in_hash;
    *at = scope->next_in_hash;
    struct program_scope *user = scope->kind == PROGRAM_JOB ? find_user(table, scope->uid) : NULL;
    if (user)
        user->job_count--;
}

void program_scope_drop(struct program_table *table, struct program_scope *scope)
{
    for (struct program_cell *cell = scope->cells, *next; cell; cell = next) {
        next = cell->next_in_scope;
        drop_cell(table, cell);
    }
    unlink_scope(table, scope);
    program_rank_sums_clear(&scope->ranks);
    program_worlds_free(&scope->worlds);
    buf_clear(&scope->suffix);
    free(scope->job);
    free(scope);
}

/* A user's table that is not parted by users has jobs straight below the node. */
static struct program_cell *above(struct program_table *table, struct program_metric *metric, struct program_scope *scope)
{
    struct program_scope *user = scope->kind == PROGRAM_JOB ? program_scope_user(table, scope->uid) : &table->node;
    return user ? program_cell_of(table, metric, user) : NULL;
}

static enum err make_aliases(struct program_table *table, struct program_cell *cell)
{
    struct program_metric *metrics[PROGRAM_ALIASES_MAX];
    size_t count = program_alias_metrics(table, cell->metric, metrics), made = 0;
    if (!count)
        return OK;
    struct program_cell **list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        struct program_cell *alias = list ? program_cell_of(table, metrics[i], cell->scope) : NULL;
        if (alias)
            list[made++] = alias;
        else
            program_room_leave(table, metrics[i]);
    }
    cell->aliases = list;
    return list ? OK : NOMEM;
}

enum err program_cell_init(struct program_table *table, struct program_cell *cell, struct program_metric *metric,
                           struct program_scope *scope)
{
    cell->metric = metric;
    cell->scope = scope;
    cell->shared.cell = cell;
    if (metric->kind == PROGRAM_HISTOGRAM) {
        cell->buckets = calloc(2 * (metric->bound_count + 1), sizeof *cell->buckets);
        return cell->buckets ? OK : NOMEM;
    }
    if (metric->kind == PROGRAM_COUNTER)
        cell->changed_ns = clock_realtime_ns(); /* it stands at 0, which is known */
    return make_aliases(table, cell);
}

/* In the shorter of the two lists: there are many jobs, or a job has many metrics, seldom both. */
static struct program_cell *find_cell(const struct program_metric *metric, const struct program_scope *scope)
{
    struct program_cell *cell = metric->cell_count < scope->cell_count ? metric->cells : scope->cells;
    if (metric->cell_count < scope->cell_count)
        while (cell && cell->scope != scope)
            cell = cell->next;
    else
        while (cell && cell->metric != metric)
            cell = cell->next_in_scope;
    return cell;
}

static void link_cell(struct program_cell *cell)
{
    struct program_metric *metric = cell->metric;
    struct program_scope *scope = cell->scope;
    cell->next = metric->cells;
    if (cell->next)
        cell->next->previous = cell;
    metric->cells = cell;
    cell->next_in_scope = scope->cells;
    if (cell->next_in_scope)
        cell->next_in_scope->previous_in_scope = cell;
    scope->cells = cell;
    scope->cell_count++;
    metric->cell_count++;
}

/* A user's jobs together have as many values as if two of them had all metrics that there can be. */
static bool has_room(struct program_table *table, const struct program_metric *metric, const struct program_scope *scope)
{
    struct program_scope *user = scope->kind == PROGRAM_JOB ? program_scope_user(table, scope->uid) : NULL;
    if (!user)
        return scope->kind != PROGRAM_JOB;
    if (user->job_cells / 2 >= table->metrics_max) {
        table->figures.left_out++;
        return false;
    }
    user->job_cells += metric->places;
    return true;
}

static struct program_cell *make_cell(struct program_table *table, struct program_metric *metric, struct program_scope *scope)
{
    struct program_cell *up = above(table, metric, scope), *cell = up ? calloc(1, sizeof *cell) : NULL;
    if (!cell)
        return NULL;
    cell->up = up;
    if (program_cell_init(table, cell, metric, scope) || !has_room(table, metric, scope)) {
        drop_aliases(table, cell);
        free(cell->buckets);
        free(cell);
        return NULL;
    }
    link_cell(cell);
    return cell;
}

/* In use meanwhile: its aliases, where they are new, need room too. A cell of a job goes on using it. */
struct program_cell *program_cell_of(struct program_table *table, struct program_metric *metric, struct program_scope *scope)
{
    if (scope->kind == PROGRAM_NODE)
        return &metric->node;
    struct program_cell *cell = find_cell(metric, scope);
    if (cell)
        return cell;
    program_room_use(table, metric);
    cell = make_cell(table, metric, scope);
    if (!cell || scope->kind != PROGRAM_JOB)
        program_room_leave(table, metric);
    return cell;
}

static void make_dirty(struct program_table *table, struct program_cell *cell)
{
    if (cell->is_dirty)
        return;
    cell->is_dirty = true;
    cell->next_dirty = table->dirty;
    if (cell->next_dirty)
        cell->next_dirty->previous_dirty = cell;
    table->dirty = cell;
}

static void touch(struct program_table *table, struct program_cell *cell, uint64_t now_ns)
{
    cell->changed_ns = now_ns;
    make_dirty(table, cell);
}

void program_scope_tell(struct program_table *table, struct program_scope *scope)
{
    for (struct program_cell *cell = scope->cells; cell; cell = cell->next_in_scope)
        if (cell->changed_ns)
            make_dirty(table, cell);
}

bool program_cell_is_counted(const struct program_cell *cell)
{
    return cell->scope->by_kernel
           && (strncmp(cell->metric->name, "syscall_", 8) == 0 || strncmp(cell->metric->name, "strace_", 7) == 0);
}

static void add(struct program_table *table, struct program_cell *cell, double increment, uint64_t now_ns)
{
    for (; cell; cell = cell->up) {
        cell->total += increment;
        touch(table, cell, now_ns);
    }
}

static void add_with_aliases(struct program_table *table, struct program_cell *cell, double increment, uint64_t now_ns)
{
    for (struct program_cell **alias = cell->aliases; alias && *alias; alias++)
        add_with_aliases(table, *alias, increment, now_ns);
    add(table, cell, increment, now_ns);
}

bool program_cell_add(struct program_table *table, struct program_cell *cell, double increment, uint64_t now_ns)
{
    if (!(increment >= 0) || isinf(increment))
        return false;
    add_with_aliases(table, cell, increment, now_ns);
    return true;
}

void program_cell_overflow(struct program_table *table, struct program_cell *cell, uint64_t now_ns)
{
    add_with_aliases(table, cell, INFINITY, now_ns);
}

bool program_cell_observe(struct program_table *table, struct program_cell *cell, const double *buckets, double sum,
                          uint64_t now_ns)
{
    for (; cell; cell = cell->up) {
        for (size_t i = 0; i <= cell->metric->bound_count; i++)
            cell->buckets[i] += buckets[i];
        cell->total += isnan(cell->total + sum) ? 0 : sum; /* also infinite and the other way: it stays as it became first */
        touch(table, cell, now_ns);
    }
    return !isnan(sum);
}

void program_hold_join(struct program_hold *hold, struct program_cell *cell)
{
    struct program_metric *metric = cell->metric;
    hold->cell = cell;
    hold->previous = NULL;
    hold->next = metric->holds;
    if (hold->next)
        hold->next->previous = hold;
    metric->holds = hold;
}

static void touch_all(struct program_table *table, struct program_cell *cell, uint64_t now_ns)
{
    cell->metric->is_unsettled = true;
    for (; cell; cell = cell->up)
        touch(table, cell, now_ns);
}

void program_hold_unset(struct program_table *table, struct program_hold *hold, uint64_t now_ns)
{
    if (hold->is_set)
        touch_all(table, hold->cell, now_ns);
    hold->is_set = false;
}

void program_hold_set(struct program_table *table, struct program_hold *hold, double value, uint64_t now_ns)
{
    if (isnan(value))
        program_hold_unset(table, hold, now_ns);
    if (isnan(value) || (hold->is_set && hold->value == value))
        return;
    hold->is_set = true;
    hold->value = value;
    touch_all(table, hold->cell, now_ns);
}

bool program_holds_fit(struct program_table *table, struct program_hold *const *holds, size_t count, struct program_scope *scope)
{
    for (size_t i = 0; i < count; i++)
        if (holds[i] && !program_cell_of(table, holds[i]->cell->metric, scope))
            return false;
    return true;
}

void program_hold_move(struct program_table *table, struct program_hold *hold, struct program_cell *cell, uint64_t now_ns)
{
    bool is_shown = hold->is_set && cell->metric->kind == PROGRAM_GAUGE;
    if (is_shown)
        touch_all(table, hold->cell, now_ns);
    hold->cell = cell;
    if (is_shown)
        touch_all(table, cell, now_ns);
}

void program_hold_leave(struct program_table *table, struct program_hold *hold, uint64_t now_ns)
{
    if (hold->previous)
        hold->previous->next = hold->next;
    else
        hold->cell->metric->holds = hold->next;
    if (hold->next)
        hold->next->previous = hold->previous;
    if (hold->is_set) {
        program_gauge_add(&hold->cell->left, hold->value);
        touch_all(table, hold->cell, now_ns);
    }
    hold->is_set = false;
}

void program_gauge_add(struct program_gauge *gauge, double value)
{
    bool is_first = gauge->programs++ == 0;
    gauge->sum = is_first ? value : gauge->sum + value;
    gauge->min = is_first ? value : fmin(gauge->min, value);
    gauge->max = is_first ? value : fmax(gauge->max, value);
}
