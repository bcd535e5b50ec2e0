/* A cell is in two lists, of its metric and of its scope. Adding goes up the tree of scopes. */
#include "appmetrics/cells.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the shorter one of two lists: there are many jobs, or a job has many metrics, seldom both. */
struct cell *cell_find(const struct program_metric *metric, const struct scope *scope)
{
    struct cell *cell;
    if (scope->kind == SCOPE_NODE)
        return metric->values.node;
    if (metric->values.cell_count < scope->cell_count) {
        LIST_FOREACH(cell, &metric->values.cells, in_metric)
            if (cell->scope == scope)
                return cell;
        return NULL;
    }
    LIST_FOREACH(cell, &scope->cells, in_scope)
        if (cell->metric == metric)
            return cell;
    return NULL;
}

struct cell *cell_create(struct program_metric *metric, struct scope *scope, struct cell *up)
{
    struct cell *cell = calloc(1, sizeof *cell);
    if (!cell)
        return NULL;
    *cell = (struct cell){ .metric = metric, .scope = scope, .up = up, .shared.cell = cell };
    if (metric->kind == PROGRAM_HISTOGRAM && !(cell->buckets = calloc(2 * (metric->bound_count + 1), sizeof(double)))) {
        free(cell);
        return NULL;
    }
    if (metric->kind == PROGRAM_COUNTER)
        cell->changed_ns = clock_realtime_ns(); /* it is known to be 0 */
    if (!up) {
        metric->values.node = cell;
        return cell;
    }
    LIST_INSERT_HEAD(&metric->values.cells, cell, in_metric);
    metric->values.cell_count++;
    LIST_INSERT_HEAD(&scope->cells, cell, in_scope);
    scope->cell_count++;
    return cell;
}

void cell_free(struct cell *cell)
{
    cell_clear_changed(cell);
    if (cell->up) {
        LIST_REMOVE(cell, in_metric);
        cell->metric->values.cell_count--;
        LIST_REMOVE(cell, in_scope);
        cell->scope->cell_count--;
    } else {
        cell->metric->values.node = NULL;
    }
    free(cell->aliases);
    free(cell->buckets);
    free(cell->saved.buckets);
    free(cell);
}

void cell_clear_changed(struct cell *cell)
{
    if (cell->sampling.is_changed)
        LIST_REMOVE(cell, sampling.link);
    cell->sampling.is_changed = false;
}

static void mark_changed(struct cell *cell)
{
    if (!cell->sampling.is_changed)
        LIST_INSERT_HEAD(&cell->scope->tree->changed, cell, sampling.link);
    cell->sampling.is_changed = true;
}

void cells_mark_changed(struct scope *scope)
{
    struct cell *cell;
    LIST_FOREACH(cell, &scope->cells, in_scope)
        if (cell->changed_ns)
            mark_changed(cell);
}

static void touch(struct cell *cell, uint64_t now_ns)
{
    cell->changed_ns = now_ns;
    mark_changed(cell);
}

bool cell_is_counted_by_kernel(const struct cell *cell)
{
    const char *name = cell->metric->name.text;
    return cell->scope->job.counts_syscalls && (strncmp(name, "syscall_", 8) == 0 || strncmp(name, "strace_", 7) == 0);
}

static void add(struct cell *cell, double increment, uint64_t now_ns)
{
    for (struct cell **alias = cell->aliases; alias && *alias; alias++)
        add(*alias, increment, now_ns);
    for (; cell; cell = cell->up) {
        cell->total += increment;
        touch(cell, now_ns);
    }
}

bool cell_add(struct cell *cell, double increment, uint64_t now_ns)
{
    if (!(increment >= 0) || isinf(increment))
        return false;
    add(cell, increment, now_ns);
    return true;
}

void cell_overflow(struct cell *cell, uint64_t now_ns)
{
    add(cell, INFINITY, now_ns);
}

/* A sum that became infinite stays so, also when another program adds the opposite infinity. */
bool cell_observe(struct cell *cell, const double *buckets, double sum, uint64_t now_ns)
{
    for (; cell; cell = cell->up) {
        for (size_t i = 0; i <= cell->metric->bound_count; i++)
            cell->buckets[i] += buckets[i];
        cell->total += isnan(cell->total + sum) ? 0 : sum;
        touch(cell, now_ns);
    }
    return !isnan(sum);
}

static void touch_gauge(struct cell *cell, uint64_t now_ns)
{
    cell->metric->values.is_stale = true;
    for (; cell; cell = cell->up)
        touch(cell, now_ns);
}

void contribution_join(struct contribution *contribution, struct cell *cell)
{
    contribution->cell = cell;
    LIST_INSERT_HEAD(&cell->metric->values.gauges, contribution, link);
}

void contribution_unset(struct contribution *contribution, uint64_t now_ns)
{
    if (contribution->is_set)
        touch_gauge(contribution->cell, now_ns);
    contribution->is_set = false;
}

void contribution_set(struct contribution *contribution, double value, uint64_t now_ns)
{
    if (isnan(value))
        contribution_unset(contribution, now_ns);
    if (isnan(value) || (contribution->is_set && contribution->value.total == value))
        return;
    contribution->is_set = true;
    contribution->value.total = value;
    touch_gauge(contribution->cell, now_ns);
}

void contribution_leave(struct contribution *contribution, uint64_t now_ns)
{
    LIST_REMOVE(contribution, link);
    if (contribution->is_set) {
        gauge_sum_add(&contribution->cell->left, contribution->value.total);
        touch_gauge(contribution->cell, now_ns);
    }
    contribution->is_set = false;
}

void contribution_move(struct contribution *contribution, struct cell *cell, uint64_t now_ns)
{
    bool is_visible = contribution->is_set && cell->metric->kind == PROGRAM_GAUGE;
    if (is_visible)
        touch_gauge(contribution->cell, now_ns);
    contribution->cell = cell;
    if (is_visible)
        touch_gauge(cell, now_ns);
}

void gauge_sum_add(struct gauge_sum *gauge, double value)
{
    bool is_first = gauge->programs++ == 0;
    gauge->sum = is_first ? value : gauge->sum + value;
    gauge->min = is_first ? value : fmin(gauge->min, value);
    gauge->max = is_first ? value : fmax(gauge->max, value);
}

void cells_refresh_gauges(struct program_metric *metric)
{
    struct metric_values *values = &metric->values;
    const struct contribution *contribution;
    struct cell *cell;
    if (!values->is_stale)
        return;
    values->is_stale = false;
    values->node->gauge.programs = 0;
    LIST_FOREACH(cell, &values->cells, in_metric)
        cell->gauge.programs = 0;
    LIST_FOREACH(contribution, &values->gauges, link)
        for (cell = contribution->is_set ? contribution->cell : NULL; cell; cell = cell->up)
            gauge_sum_add(&cell->gauge, contribution->value.total);
}
