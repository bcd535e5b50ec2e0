/* Metrics by name and family, without values and limits. */
#include "appmetrics/metric_table.h"

#include "base/hash.h"

#include "tools/unit.h"

static struct metric_table table;

static int open_table(void **state)
{
    (void)state;
    metric_table_init(&table);
    return 0;
}

static int close_table(void **state)
{
    (void)state;
    metric_table_clear(&table);
    return 0;
}

static struct program_metric *add(const char *name, enum program_kind kind, const char *doc)
{
    static const double bounds[] = { 1 };
    struct program_metric *metric;
    struct metric_description description = {
        .name = bytes_of(name), .doc = bytes_of(doc), .unit = { "", 0 }, .kind = kind,
        .bounds = bounds, .bound_count = kind == PROGRAM_HISTOGRAM ? 1 : 0,
    };
    assert_int_equal(metric_table_parse(&table, description.name, &metric), OK);
    assert_null(metric);
    assert_int_equal(metric_table_add(&table, &description, &metric), OK);
    return metric;
}

static void name_is_found_in_any_spelling(void **state)
{
    (void)state;
    struct program_metric *metric = add("x{a=\"1\",b=\"2\"}", PROGRAM_COUNTER, "");
    assert_string_equal(metric->name.text, "x{a=\"1\",b=\"2\"}");
    assert_int_equal(metric->name.base_size, 1);
    assert_ptr_equal(metric_table_find(&table, bytes_of("x{b=2,a=1}")), metric);
    assert_null(metric_table_find_exact(&table, bytes_of("x{b=2,a=1}")));
    assert_null(metric_table_find(&table, bytes_of("x{a=\"1\"}")));
}

static void family_has_one_type(void **state)
{
    (void)state;
    add("x{a=\"1\"}", PROGRAM_COUNTER, "");
    struct program_metric *gauge = add("x{a=\"2\"}", PROGRAM_GAUGE, "");
    assert_string_equal(gauge->family->name, "x_gauge");
    assert_string_equal(gauge->page.text, "x_gauge{a=\"2\",");
    assert_false(gauge->is_renamed); /* in samples the two have different names anyway */
}

static void histogram_has_its_series_alone(void **state)
{
    (void)state;
    add("h", PROGRAM_HISTOGRAM, "");
    assert_true(families_has_series(&table.families, bytes_of("h_count")));
    struct program_metric *counter = add("h_count", PROGRAM_COUNTER, "");
    assert_string_equal(counter->page.text, "h_count_counter{");
    assert_true(counter->is_renamed);
}

static void two_names_never_become_one_series(void **state)
{
    (void)state;
    struct program_metric *one = add("x{job=\"1\"}", PROGRAM_COUNTER, ""); /* the label job is ours on the page */
    struct program_metric *two = add("x{program_job=\"1\"}", PROGRAM_COUNTER, "");
    assert_string_equal(one->page.text, "x{program_job=\"1\",");
    assert_string_equal(two->page.text, "x{program_job=\"1\",program_name=\"x{program_job=\\\"1\\\"}\",");
}

static void removed_metric_leaves_its_place_and_family(void **state)
{
    (void)state;
    struct program_metric *metric = add("x", PROGRAM_COUNTER, "");
    add("y", PROGRAM_COUNTER, "");
    metric_table_remove(&table, metric);
    metric_table_free(metric);
    assert_null(metric_table_find(&table, bytes_of("x")));
    assert_null(families_find(&table.families, bytes_of("x")));
    assert_null(table.metrics.items[0]);
    assert_int_equal(add("x", PROGRAM_GAUGE, "")->index, 0);
    assert_string_equal(table.metrics.items[0]->page.text, "x{");
    assert_int_equal(table.by_name.count, 2);
}

static void family_doc_is_what_all_docs_begin_with(void **state)
{
    (void)state;
    add("t_total{f=\"a\"}", PROGRAM_COUNTER, "Total seconds spent for MPI_Send");
    struct program_metric *metric = add("t_total{f=\"b\"}", PROGRAM_COUNTER, "Total seconds spent for MPI_Recv");
    assert_int_equal(metric->family->doc_size, strlen("Total seconds spent for"));
}

static void empty_name_is_refused(void **state)
{
    struct program_metric *metric;
    (void)state;
    assert_int_equal(metric_table_parse(&table, bytes_of(""), &metric), USAGE);
}

/* FNV, as tables of names once had, or another hash without a key: somebody could choose names that are all in one place. */
static void chosen_names_are_spread(void **state)
{
    enum { COUNT = 2000, SAME = 4096 };
    char name[32];
    size_t added = 0, farthest = 0;
    (void)state;
    for (uint32_t i = 0; added < COUNT; i++) {
        size_t size = (size_t)snprintf(name, sizeof name, "m%08x", i);
        if (hash_add(HASH_START, name, size) % SAME != 0)
            continue;
        add(name, PROGRAM_COUNTER, "");
        added++;
    }
    const struct map *map = &table.by_name;
    for (size_t at = 0; at < map->slot_count; at++) {
        size_t distance = (at - map->slots[at].hash) & (map->slot_count - 1);
        if (map->slots[at].item && distance > farthest)
            farthest = distance;
    }
    assert_int_equal(map->count, COUNT);
    assert_in_range(farthest, 1, 200); /* of 2,000, if all had one place */
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_table, close_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(name_is_found_in_any_spelling),
        T(family_has_one_type),
        T(histogram_has_its_series_alone),
        T(two_names_never_become_one_series),
        T(removed_metric_leaves_its_place_and_family),
        T(family_doc_is_what_all_docs_begin_with),
        T(empty_name_is_refused),
        T(chosen_names_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
