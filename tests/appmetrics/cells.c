/* Values in scopes: how counters, gauges and histograms are summed, without limits. */
#include "appmetrics/cells.h"

#include "tools/unit.h"

#include <math.h>

static struct quota quota;
static struct metric_table table;
static struct scopes scopes;

static int open_all(void **state)
{
    (void)state;
    quota_init(&quota, 10);
    metric_table_init(&table);
    return scopes_init(&scopes, "n1", &quota, true, false);
}

static int close_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < table.metrics.count; i++) {
        struct metric_values *values = &table.metrics.items[i]->values;
        while (!LIST_EMPTY(&values->cells))
            cell_free(LIST_FIRST(&values->cells));
        cell_free(values->node);
    }
    scopes_clear(&scopes);
    metric_table_clear(&table);
    return 0;
}

static struct cell *cell_of(struct program_metric *metric, struct scope *scope)
{
    struct cell *cell = cell_find(metric, scope);
    return cell ? cell : cell_create(metric, scope, scope->parent ? cell_of(metric, scope->parent) : NULL);
}

static struct program_metric *add_metric(const char *name, enum program_kind kind)
{
    static const double bounds[] = { 1 };
    struct program_metric *metric;
    struct metric_description description = {
        .name = bytes_of(name), .doc = { "", 0 }, .unit = { "", 0 }, .kind = kind,
        .bounds = bounds, .bound_count = kind == PROGRAM_HISTOGRAM ? 1 : 0,
    };
    assert_int_equal(metric_table_parse(&table, description.name, &metric), OK);
    assert_int_equal(metric_table_add(&table, &description, &metric), OK);
    assert_non_null(cell_of(metric, &scopes.node));
    return metric;
}

static void drop(struct scope *scope)
{
    while (!LIST_EMPTY(&scope->cells))
        cell_free(LIST_FIRST(&scope->cells));
    scope_free(scope);
}

static void counter_is_summed_over_job_user_and_node(void **state)
{
    struct program_metric *metric;
    (void)state;
    metric = add_metric("x_total", PROGRAM_COUNTER);
    struct scope *one = scopes_job(&scopes, "1", 7), *two = scopes_job(&scopes, "2", 7);
    struct scope *other = scopes_job(&scopes, "1", 8); /* the same id of another user is another job */
    cell_add(cell_of(metric, one), 3, 1);
    cell_add(cell_of(metric, two), 4, 1);
    cell_add(cell_of(metric, other), 5, 1);
    assert_true(cell_of(metric, one)->total == 3);
    assert_true(cell_of(metric, scopes_user(&scopes, 7))->total == 7);
    assert_true(metric->values.node->total == 12);
    drop(one); /* what it counted stays */
    assert_true(cell_of(metric, scopes_user(&scopes, 7))->total == 7);
    assert_true(metric->values.node->total == 12);
}

static void counter_refuses_nan_infinite_and_negative(void **state)
{
    struct program_metric *metric;
    (void)state;
    metric = add_metric("x_total", PROGRAM_COUNTER);
    assert_true(cell_add(metric->values.node, 2, 1));
    assert_false(cell_add(metric->values.node, NAN, 1));
    assert_false(cell_add(metric->values.node, INFINITY, 1));
    assert_false(cell_add(metric->values.node, -INFINITY, 1));
    assert_false(cell_add(metric->values.node, -1, 1)); /* a counter does not fall */
    assert_true(metric->values.node->total == 2);
}

static void overflowing_counter_is_infinite_only_where_it_overflows(void **state)
{
    struct program_metric *metric;
    (void)state;
    metric = add_metric("x_total", PROGRAM_COUNTER);
    struct cell *one = cell_of(metric, scopes_job(&scopes, "1", 7));
    struct cell *two = cell_of(metric, scopes_job(&scopes, "2", 8));
    assert_true(cell_add(one, 1.7e308, 1));
    assert_true(cell_add(two, 1.7e308, 1)); /* too much for the node alone */
    assert_true(metric->values.node->total == INFINITY && one->total == 1.7e308 && two->total == 1.7e308);
    assert_true(cell_add(one, 1.7e308, 1));
    assert_true(cell_add(one, 4, 1));
    assert_true(metric->values.node->total == INFINITY && one->total == INFINITY && two->total == 1.7e308);
    cell_overflow(two, 1);
    assert_true(two->total == INFINITY);
}

static void histogram_with_infinite_sum_keeps_its_buckets(void **state)
{
    struct program_metric *metric;
    static const double seen[] = { 1, 2 };
    (void)state;
    metric = add_metric("h", PROGRAM_HISTOGRAM);
    assert_true(cell_observe(metric->values.node, seen, 1.7e308, 1));
    assert_false(cell_observe(metric->values.node, seen, NAN, 1));
    assert_true(metric->values.node->total == 1.7e308);
    assert_true(cell_observe(metric->values.node, seen, 1.7e308, 1));
    assert_true(cell_observe(metric->values.node, seen, -1.7e308, 1));
    assert_true(cell_observe(metric->values.node, seen, -INFINITY, 1)); /* of another program: the sum is unknown then */
    const struct cell *node = metric->values.node;
    assert_true(node->total == INFINITY && node->buckets[0] == 5 && node->buckets[1] == 10);
}

static void gauge_is_over_live_programs(void **state)
{
    struct program_metric *metric;
    struct contribution contributions[3] = { 0 };
    (void)state;
    metric = add_metric("g", PROGRAM_GAUGE);
    for (size_t i = 0; i < 3; i++)
        contribution_join(&contributions[i], cell_of(metric, scopes_job(&scopes, i ? "1" : "2", 7)));
    contribution_set(&contributions[0], 10, 1);
    contribution_set(&contributions[1], 2, 1); /* the third one has not set it */
    cells_refresh_gauges(metric);
    assert_int_equal(metric->values.node->gauge.programs, 2);
    const struct gauge_sum *sum = &metric->values.node->gauge;
    assert_true(sum->sum == 12 && sum->min == 2 && sum->max == 10);
    contribution_leave(&contributions[0], 2);
    cells_refresh_gauges(metric);
    assert_true(metric->values.node->gauge.sum == 2 && metric->values.node->gauge.programs == 1);
    assert_int_equal(cell_of(metric, scopes_job(&scopes, "2", 7))->gauge.programs, 0);
    contribution_leave(&contributions[1], 3);
    contribution_leave(&contributions[2], 3);
    cells_refresh_gauges(metric);
    assert_int_equal(metric->values.node->gauge.programs, 0);
}

static void gauge_moves_with_its_program(void **state)
{
    struct contribution gauge = { 0 };
    (void)state;
    struct program_metric *metric = add_metric("g", PROGRAM_GAUGE);
    struct cell *one = cell_of(metric, scopes_job(&scopes, "1", 7)), *two = cell_of(metric, scopes_job(&scopes, "2", 7));
    contribution_join(&gauge, one);
    contribution_set(&gauge, 5, 1);
    contribution_move(&gauge, two, 2);
    cells_refresh_gauges(metric);
    assert_true(one->gauge.programs == 0 && two->gauge.sum == 5 && metric->values.node->gauge.sum == 5);
    contribution_set(&gauge, NAN, 3);
    cells_refresh_gauges(metric);
    assert_int_equal(two->gauge.programs, 0);
    contribution_leave(&gauge, 4);
}

static void changed_cells_are_listed_once(void **state)
{
    (void)state;
    struct program_metric *metric = add_metric("x_total", PROGRAM_COUNTER);
    struct cell *cell = cell_of(metric, scopes_user(&scopes, 7));
    cell_add(cell, 1, 1);
    cell_add(cell, 1, 2);
    assert_ptr_equal(LIST_FIRST(&scopes.changed), metric->values.node);
    cell_clear_changed(metric->values.node);
    assert_ptr_equal(LIST_FIRST(&scopes.changed), cell);
    cell_clear_changed(cell);
    assert_true(LIST_EMPTY(&scopes.changed));
    cells_mark_changed(cell->scope);
    assert_ptr_equal(LIST_FIRST(&scopes.changed), cell);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(counter_is_summed_over_job_user_and_node),
        T(counter_refuses_nan_infinite_and_negative),
        T(overflowing_counter_is_infinite_only_where_it_overflows),
        T(histogram_with_infinite_sum_keeps_its_buckets),
        T(gauge_is_over_live_programs),
        T(gauge_moves_with_its_program),
        T(changed_cells_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
