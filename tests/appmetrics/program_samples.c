/* Samples of program metrics: what has changed, under names that are unique. */
#include "appmetrics/program_samples.h"

#include "model/program_sets.h"
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

/* How many of these metrics a program of the scope gets. */
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

static void samples_keep_the_name_of_an_evicted_metric(void **state)
{
    struct batch batch;
    (void)state;
    batch_init(&batch);
    struct scope *job = scopes_job(&registry->scopes, "1", 7);
    job->job.is_known = true;
    assert_int_equal(take(job, "a", 1), 1);
    cell_add(metric_table_find(&registry->metrics, bytes_of("a0_total"))->values.node, 1, 1);
    program_samples_add(registry, &batch, 100);
    assert_int_equal(batch.count, 1);
    registry_drop_scope(registry, job);
    for (int i = 0; i < 4; i++) {
        struct scope *next = scopes_job(&registry->scopes, "2", 7);
        char prefix[2] = { (char)('b' + i), '\0' };
        take(next, prefix, 5);
        registry_drop_scope(registry, next);
    }
    assert_null(metric_table_find(&registry->metrics, bytes_of("a0_total")));
    assert_string_equal(batch.samples[0].instance, "a0_total");
    batch_reset(&batch);
    program_samples_add(registry, &batch, 200);
    assert_true(TAILQ_EMPTY(&registry->evicted));
    batch_clear(&batch);
}

static void mpi_counters_of_ranks_are_not_sampled_again(void **state)
{
    struct program_metric *metric;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    assert_int_equal(make("mpi_calls_total{function=\"MPI_Send\"}", PROGRAM_COUNTER, &metric), OK);
    cell_add(metric->values.node, 1, 1);
    assert_int_equal(make("mpi_calls_total{function=\"MPIX_Bcast_init\"}", PROGRAM_COUNTER, &metric), OK);
    cell_add(metric->values.node, 1, 1);
    program_samples_add(registry, &batch, 100);
    assert_int_equal(batch.count, 0);
    batch_clear(&batch);
}

static const struct sample *sample_of(const struct batch *batch, const char *instance, const char *job)
{
    for (size_t i = 0; i < batch->count; i++)
        if (!strcmp(batch->samples[i].instance, instance)
            && (job ? batch->samples[i].job && !strcmp(batch->samples[i].job, job) : !batch->samples[i].job))
            return &batch->samples[i];
    return NULL;
}

static void only_changes_are_sampled(void **state)
{
    struct program_metric *metric, *call;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    struct scope *job = scopes_job(&registry->scopes, "1", 7), *unknown = scopes_job(&registry->scopes, "2", 7);
    job->job.is_known = true;
    assert_int_equal(make("x_total", PROGRAM_COUNTER, &metric), OK);
    assert_int_equal(make("syscall_calls_total{call=\"read\"}", PROGRAM_COUNTER, &call), OK);
    cell_add(registry_cell(registry, metric, job), 3, 1);
    cell_add(registry_cell(registry, metric, unknown), 4, 1);
    cell_add(registry_cell(registry, call, job), 9, 1);
    program_samples_add(registry, &batch, 100);
    assert_true(sample_of(&batch, "x_total", "1")->values[PROGRAM_COUNTER_TOTAL].f64 == 3);
    assert_true(sample_of(&batch, "x_total", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 7);
    assert_null(sample_of(&batch, "x_total", "2"));
    assert_ptr_equal(sample_of(&batch, "read", "1")->set, &syscall_set);
    assert_int_equal(sample_of(&batch, "read", "1")->values[SYSCALL_CALLS].u64, 9);
    assert_false(sample_of(&batch, "read", "1")->known[SYSCALL_BYTES]);
    batch_reset(&batch);
    program_samples_add(registry, &batch, 200);
    assert_int_equal(batch.count, 0);
    batch_clear(&batch);
}

static void make_histogram(const char *name, double sum)
{
    static const double bounds[] = { 1 }, seen[] = { 1, 2 };
    struct program_metric *metric;
    struct metric_description description = {
        .name = bytes_of(name), .doc = { "", 0 }, .unit = { "", 0 }, .kind = PROGRAM_HISTOGRAM,
        .bounds = bounds, .bound_count = 1,
    };
    assert_int_equal(registry_metric(registry, &description, &metric), OK);
    cell_observe(metric->values.node, seen, sum, 1);
}

static void histogram_and_counter_are_two_series(void **state)
{
    struct program_metric *metric;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    make_histogram("h{a=\"b\"}", 7);
    assert_int_equal(make("h_sum{a=\"b\"}", PROGRAM_COUNTER, &metric), OK);
    cell_add(metric->values.node, 5, 1);
    assert_int_equal(make("k_count", PROGRAM_COUNTER, &metric), OK);
    cell_add(metric->values.node, 9, 1);
    make_histogram("k", 8);
    program_samples_add(registry, &batch, 100);
    for (size_t i = 0; i < batch.count; i++)
        assert_ptr_equal(sample_of(&batch, batch.samples[i].instance, NULL), &batch.samples[i]);
    assert_true(sample_of(&batch, "h_sum{a=\"b\"}", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 7);
    assert_true(sample_of(&batch, "h_sum_counter{a=\"b\"}", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 5);
    assert_true(sample_of(&batch, "k_count", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 9);
    assert_true(sample_of(&batch, "k_histogram_count", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 3);
    assert_true(sample_of(&batch, "k_histogram_bucket{le=\"1\"}", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 1);
    batch_clear(&batch);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_registry, close_registry)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(samples_keep_the_name_of_an_evicted_metric),
        T(mpi_counters_of_ranks_are_not_sampled_again),
        T(only_changes_are_sampled),
        T(histogram_and_counter_are_two_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
