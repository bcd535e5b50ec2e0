/* The registry: metrics with limits, types and aliases, and values that stay when a job is dropped. */
#include "appmetrics/registry.h"

#include "tools/unit.h"

static struct registry *registry;

static int open_registry(void **state)
{
    (void)state;
    return registry_open(&registry, &(struct registry_settings){ .host = "n1", .metrics_max = 10, .is_by_user = true });
}

static int close_registry(void **state)
{
    (void)state;
    registry_close(&registry);
    return 0;
}

static enum err make_of(struct scope *scope, const char *name, enum program_kind kind, struct program_metric **metric)
{
    struct metric_description description = {
        .name = bytes_of(name), .doc = { "", 0 }, .unit = { "", 0 }, .kind = kind, .scope = scope,
    };
    return registry_metric(registry, &description, metric);
}

static enum err make(const char *name, enum program_kind kind, struct program_metric **metric)
{
    return make_of(NULL, name, kind, metric);
}

static enum err make_with_bounds(const char *name, const double *bounds, size_t count, struct program_metric **metric)
{
    struct metric_description description = {
        .name = bytes_of(name), .kind = PROGRAM_HISTOGRAM, .bounds = bounds, .bound_count = count,
    };
    return registry_metric(registry, &description, metric);
}

static void unused_name_may_get_another_type(void **state)
{
    static const double bounds[] = { 1, 10, 100 };
    struct program_metric *metric;
    (void)state;
    assert_int_equal(make_of(scopes_user(&registry->scopes, 7), "level", PROGRAM_COUNTER, &metric), OK);
    cell_add(registry_cell(registry, metric, scopes_user(&registry->scopes, 7)), 3, 1);
    assert_int_equal(make_of(scopes_user(&registry->scopes, 8), "level", PROGRAM_GAUGE, &metric), OK);
    assert_int_equal(metric->kind, PROGRAM_GAUGE);
    assert_string_equal(metric->page.text, "level{"); /* the family of the counter was removed with it */
    assert_true(LIST_EMPTY(&metric->values.cells));
    assert_int_equal(make_with_bounds("h", bounds, 2, &metric), OK);
    assert_int_equal(make_with_bounds("h", bounds, 3, &metric), OK);
    assert_int_equal(metric->bound_count, 3);
    assert_int_equal(registry->metrics.by_name.count, 2);
    assert_int_equal(registry->stats.refused, 0);
}

static void name_used_by_a_job_keeps_its_type(void **state)
{
    struct program_metric *metric;
    struct buf why;
    (void)state;
    struct scope *job = scopes_job(&registry->scopes, "1", 7);
    assert_int_equal(make("level", PROGRAM_COUNTER, &metric), OK);
    assert_non_null(registry_cell(registry, metric, job)); /* its sum is not lost */
    assert_int_equal(make_of(scopes_user(&registry->scopes, 8), "level", PROGRAM_GAUGE, &metric), USAGE);
    assert_int_equal(registry->stats.refused, 1);
    assert_int_equal(registry->conflict.uid, 8);
    buf_init(&why, 256);
    registry_conflict_write(&why, &registry->conflict);
    assert_string_equal(buf_text(&why), "level is a gauge in one program and a counter in another");
    buf_clear(&why);
    registry_drop_scope(registry, job);
    assert_int_equal(make_of(scopes_user(&registry->scopes, 8), "level", PROGRAM_GAUGE, &metric), OK);
    registry->is_one_job = true; /* as that of a run: all of it is one job */
    assert_int_equal(make("level", PROGRAM_COUNTER, &metric), USAGE);
}

static void name_has_one_type(void **state)
{
    struct program_metric *metric, *same;
    (void)state;
    assert_int_equal(make("x{a=\"1\",b=\"2\"}", PROGRAM_COUNTER, &metric), OK);
    assert_int_equal(make("x{b=2,a=1}", PROGRAM_COUNTER, &same), OK);
    assert_ptr_equal(metric, same);
    quota_use(&registry->quota, &metric->quota);
    assert_int_equal(make("x{a=\"1\",b=\"2\"}", PROGRAM_GAUGE, &same), USAGE);
    assert_null(same);
    assert_int_equal(registry->stats.refused, 1);
    assert_int_equal(make("x{a=\"other\"}", PROGRAM_GAUGE, &same), OK); /* another family on the page */
    assert_ptr_not_equal(metric->family, same->family);
    assert_string_equal(same->family->name, "x_gauge");
    assert_string_equal(same->page.text, "x_gauge{a=\"other\",");
}

static void metrics_over_the_limit_are_counted(void **state)
{
    struct program_metric *metric;
    char name[32];
    (void)state;
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "x%d", i);
        assert_int_equal(make(name, PROGRAM_COUNTER, &metric), i < 10 ? OK : FULL);
        if (metric)
            quota_use(&registry->quota, &metric->quota);
    }
    assert_int_equal(registry->stats.left_out, 2);
    assert_int_equal(make("x3", PROGRAM_COUNTER, &metric), OK);
}

/* How many of these metrics a program of the scope gets, which it goes on using. */
static size_t take(struct scope *scope, const char *prefix, int count)
{
    size_t taken = 0;
    for (int i = 0; i < count; i++) {
        struct program_metric *metric;
        char name[32];
        snprintf(name, sizeof name, "%s%d_total", prefix, i);
        if (make_of(scope, name, PROGRAM_COUNTER, &metric) == OK && registry_cell(registry, metric, scope))
            taken++;
    }
    return taken;
}

static void one_user_cannot_take_all_places(void **state)
{
    (void)state;
    struct scope *greedy = scopes_job(&registry->scopes, "1", 7), *other = scopes_job(&registry->scopes, "2", 8);
    struct scope *third = scopes_job(&registry->scopes, "3", 9);
    assert_int_equal(take(greedy, "a", 100), 5); /* of 10 */
    assert_int_equal(take(other, "b", 3), 3);
    assert_int_equal(take(greedy, "a", 5), 5); /* those that it has */
    assert_int_equal(take(third, "a", 5), 5);  /* and everybody may use too */
    assert_int_equal(take(third, "c", 9), 1);
    assert_int_equal(registry->metrics.by_name.count, 9);
}

static void metrics_of_ended_jobs_are_evicted(void **state)
{
    (void)state;
    struct scope *other = scopes_job(&registry->scopes, "other", 8);
    assert_int_equal(take(other, "b", 2), 2);
    for (int round = 0; round < 100; round++) { /* 400 names one after another */
        char prefix[16];
        snprintf(prefix, sizeof prefix, "a%d_", round);
        struct scope *job = scopes_job(&registry->scopes, "1", 7);
        assert_int_equal(take(job, prefix, 5), 4); /* 10 less the 2 of the other, and as many are left */
        registry_drop_scope(registry, job);
        assert_true(registry->metrics.by_name.count <= 10);
    }
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of("b0_total"));
    assert_non_null(metric);
    cell_add(registry_cell(registry, metric, other), 5, 1);
    assert_true(metric->values.node->total == 5);
    assert_null(metric_table_find(&registry->metrics, bytes_of("a0_0_total")));
    assert_non_null(metric_table_find(&registry->metrics, bytes_of("a99_3_total"))); /* stays while there are slots */
    assert_int_equal(take(other, "b", 5), 5);
    assert_int_equal(registry->metrics.families.by_name.count, registry->metrics.by_name.count);
}

static void idle_metrics_count_when_used_again(void **state)
{
    (void)state;
    struct scope *first = scopes_job(&registry->scopes, "1", 7);
    assert_int_equal(take(first, "a", 5), 5);
    registry_drop_scope(registry, first);
    struct scope *second = scopes_job(&registry->scopes, "2", 7);
    assert_int_equal(take(second, "b", 5), 5);
    assert_int_equal(take(second, "a", 5), 0); /* they are there, and another's to have */
    assert_int_equal(take(scopes_job(&registry->scopes, "3", 8), "a", 5), 3);
}

static void long_strings_and_many_buckets_take_several_places(void **state)
{
    static char doc[3 * METRIC_SLOT_BYTES];
    static double bounds[200];
    struct program_metric *metric;
    (void)state;
    struct scope *user = scopes_job(&registry->scopes, "1", 7);
    struct metric_description wordy = {
        .name = bytes_of("a"), .doc = { doc, sizeof doc }, .unit = { "", 0 }, .kind = PROGRAM_COUNTER, .scope = user,
    };
    memset(doc, 'd', sizeof doc);
    assert_int_equal(registry_metric(registry, &wordy, &metric), OK);
    assert_int_equal(metric->quota.slots, 4);
    assert_non_null(registry_cell(registry, metric, user));
    assert_int_equal(take(user, "b", 9), 1); /* of the 5 that one user may have */
    wordy.name = bytes_of("c");
    wordy.scope = NULL;
    assert_int_equal(registry_metric(registry, &wordy, &metric), OK);
    assert_int_equal(registry->quota.in_use + registry->quota.idle, 9);
    registry_drop_scope(registry, user);
    for (size_t i = 0; i < 200; i++)
        bounds[i] = (double)i;
    struct metric_description wide = {
        .name = bytes_of("h"), .doc = { "", 0 }, .unit = { "", 0 }, .kind = PROGRAM_HISTOGRAM,
        .bounds = bounds, .bound_count = 200,
    };
    assert_int_equal(registry_metric(registry, &wide, &metric), OK); /* for which those that are idle go */
    assert_int_equal(metric->quota.slots, 7);
    assert_true(registry->quota.in_use + registry->quota.idle <= 10);
    assert_null(metric_table_find(&registry->metrics, bytes_of("a")));
}

/* A counter has the alias of its name in "also_". */
static size_t alias_of(const struct program_metric *metric, struct metric_alias list[REGISTRY_ALIASES_MAX])
{
    if (strncmp(metric->name.text, "own_", 4) != 0)
        return 0;
    snprintf(list[0].name, sizeof list[0].name, "also_%.200s", metric->name.text + 4);
    snprintf(list[0].doc, sizeof list[0].doc, "%s", "alias");
    return 1;
}

static void alias_counts_with_its_metric(void **state)
{
    struct program_metric *metric;
    (void)state;
    registry->aliases = alias_of;
    struct scope *job = scopes_job(&registry->scopes, "1", 7);
    assert_int_equal(make_of(job, "own_total", PROGRAM_COUNTER, &metric), OK);
    cell_add(registry_cell(registry, metric, job), 5, 1);
    struct program_metric *alias = metric_table_find(&registry->metrics, bytes_of("also_total"));
    assert_non_null(alias);
    assert_true(alias->is_alias && alias->values.node->total == 5);
    assert_true(cell_find(alias, job)->total == 5);
    assert_ptr_equal(alias->quota.owner, metric->quota.owner); /* the same user pays for it */
    registry_drop_scope(registry, job);
    assert_int_equal(metric->quota.use_count, 0);
    assert_int_equal(alias->quota.use_count, 2); /* by the cells of the user and of the node */
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_registry, close_registry)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(unused_name_may_get_another_type),
        T(name_used_by_a_job_keeps_its_type),
        T(name_has_one_type),
        T(metrics_over_the_limit_are_counted),
        T(one_user_cannot_take_all_places),
        T(metrics_of_ended_jobs_are_evicted),
        T(idle_metrics_count_when_used_again),
        T(long_strings_and_many_buckets_take_several_places),
        T(alias_counts_with_its_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
