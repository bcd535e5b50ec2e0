/* Histograms assembled from the series of their buckets, and their quantiles. */
#include "analysis/histograms.h"

#include "model/program_sets.h"
#include "tools/unit.h"

#include <math.h>

static void tell(struct job_metrics *metrics, const char *instance, double value)
{
    uint64_t time_ns = 1;
    uint8_t known = 1;
    union value values = { .f64 = value };
    struct run_series series = { .set = program_counter_set, .instance = instance, .count = 1, .times_ns = &time_ns,
                                 .values = &values, .known = &known };
    assert_int_equal(job_metrics_add(metrics, "n1", &series), OK);
}

/* Two runs of a job, 10 observations up to 50 each: none is above 100, and the first run has no bucket up to 100. */
static void bounds_missing_in_a_run_are_left_out(void **state)
{
    struct job_metrics metrics;
    struct histograms histograms;
    (void)state;
    job_metrics_init(&metrics);
    for (int run = 0; run < 2; run++) {
        tell(&metrics, "wait_bucket{le=\"1\"}", 0);
        tell(&metrics, "wait_bucket{le=\"10\"}", 2);
        if (run == 1)
            tell(&metrics, "wait_bucket{le=\"100\"}", 10);
        tell(&metrics, "wait_bucket{le=\"+Inf\"}", 10);
    }
    assert_int_equal(histograms_read(&histograms, &metrics), OK);
    assert_int_equal(histograms.count, 1);
    const struct histogram *wait = &histograms.list[0];
    assert_int_equal(wait->count, 3);
    assert_true(wait->bounds[0] == 1 && wait->bounds[1] == 10 && isinf(wait->bounds[2]));
    assert_true(wait->counts[0] == 0 && wait->counts[1] == 4 && wait->counts[2] == 20);
    histograms_clear(&histograms);
    job_metrics_clear(&metrics);
}

static void buckets_in_any_order(void **state)
{
    struct job_metrics metrics;
    struct histograms histograms;
    (void)state;
    job_metrics_init(&metrics);
    tell(&metrics, "wait_seconds_bucket{phase=\"a,le=\\\"\",le=\"+Inf\"}", 10);
    tell(&metrics, "wait_seconds_sum{phase=\"a,le=\\\"\"}", 12);
    tell(&metrics, "plain_bucket{le=\"1\"}", 2);
    tell(&metrics, "wait_seconds_bucket{phase=\"a,le=\\\"\",le=\"0.5\"}", 4);
    tell(&metrics, "plain_bucket{le=\"+Inf\"}", 2);
    tell(&metrics, "wait_seconds_bucket{phase=\"a,le=\\\"\",le=\"1\"}", 9);
    tell(&metrics, "wait_seconds_count{phase=\"a,le=\\\"\"}", 10);
    tell(&metrics, "other_sum", 1);
    assert_int_equal(histograms_read(&histograms, &metrics), OK);
    assert_int_equal(histograms.count, 2);
    const struct histogram *plain = &histograms.list[0], *wait = &histograms.list[1];
    assert_string_equal(plain->name, "plain");
    assert_int_equal(plain->count, 2);
    assert_true(isnan(plain->sum));
    assert_string_equal(wait->name, "wait_seconds{phase=\"a,le=\\\"\"}");
    assert_int_equal(wait->count, 3);
    assert_true(wait->bounds[0] == 0.5 && wait->bounds[1] == 1 && isinf(wait->bounds[2]));
    assert_true(wait->counts[0] == 4 && wait->counts[1] == 9 && wait->counts[2] == 10 && wait->sum == 12);
    assert_true(histograms_have(&histograms, "wait_seconds_count{phase=\"a,le=\\\"\"}"));
    assert_false(histograms_have(&histograms, "other_sum"));
    assert_false(histograms_have(&histograms, "wait_seconds_count"));
    histograms_clear(&histograms);
    job_metrics_clear(&metrics);
}

static void similar_names_are_not_buckets(void **state)
{
    static const char *const names[] = { "", "_bucket{le=\"1\"}", "x_bucket", "x_bucket{a=\"b\"}", "x{le=\"1\"}",
                                        "x_bucket{",
                                         "x_bucket{le=\"", "x_bucket{\"}", "x_bucket{file=\"1\"}", "x_bucket\"}" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(histogram_is_bucket(names[i]));
    assert_true(histogram_is_bucket("x_bucket{le=\"1\"}"));
}

static void quantiles_lie_in_their_bucket(void **state)
{
    const double bounds[] = { 1, 2, 4, INFINITY }, counts[] = { 10, 30, 40, 50 }, none[] = { 0, 0, 0, 0 };
    (void)state;
    assert_true(histogram_quantile(bounds, counts, 4, 0.1) == 0.5);
    assert_true(histogram_quantile(bounds, counts, 4, 0.5) == 1.75);
    assert_true(histogram_quantile(bounds, counts, 4, 0.8) == 4);
    assert_true(isinf(histogram_quantile(bounds, counts, 4, 0.99)));
    assert_true(isnan(histogram_quantile(bounds, none, 4, 0.5)));
    assert_true(isnan(histogram_quantile(bounds, counts, 0, 0.5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_in_any_order),
        cmocka_unit_test(bounds_missing_in_a_run_are_left_out),
        cmocka_unit_test(similar_names_are_not_buckets),
        cmocka_unit_test(quantiles_lie_in_their_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
