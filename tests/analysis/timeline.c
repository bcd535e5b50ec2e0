/* Series are resampled to bins: rates keep their sum, gauges their maximum, unknown stays unknown. */
#include "analysis/timeline.h"

#include "tools/unit.h"

#include <math.h>

#define S 1000000000ull

static const struct metric metrics[] = {
    { "cpu", "us", COUNTER, U64, "" },
    { "rss", "B", GAUGE, U64, "" },
};

static struct timeline timeline;

/* Samples at the given seconds; cpu in us and rss in bytes. UINT64_MAX: unknown. */
static void add_run(const uint64_t *times_s, const uint64_t *cpu_us, const uint64_t *rss, size_t count, const char *set)
{
    uint64_t times_ns[16];
    union value values[32];
    uint8_t known[32];
    for (size_t i = 0; i < count; i++) {
        times_ns[i] = times_s[i] * S;
        values[2 * i].u64 = cpu_us[i];
        values[2 * i + 1].u64 = rss[i];
        known[2 * i] = cpu_us[i] != UINT64_MAX;
        known[2 * i + 1] = rss[i] != UINT64_MAX;
    }
    struct run_series series = { .set = { set, metrics, 2 }, .instance = "", .count = count, .times_ns = times_ns,
                                 .values = values, .known = known };
    timeline_add(&timeline, &series);
}

/* The same on a host of its own. */
static void add(const uint64_t *times_s, const uint64_t *cpu_us, const uint64_t *rss, size_t count, const char *set)
{
    add_run(times_s, cpu_us, rss, count, set);
    timeline_end_host(&timeline);
}

static double sum_cpu_s(void)
{
    double sum = 0;
    for (int bin = 0; bin < TIMELINE_BINS; bin++)
        if (!isnan(timeline.line[TIMELINE_CPU][bin]))
            sum += timeline.line[TIMELINE_CPU][bin] * timeline_bin_s(&timeline);
    return sum;
}

static void rates_are_spread_over_their_interval(void **state)
{
    (void)state;
    timeline_init(&timeline, 100 * S, 110 * S);
    add((uint64_t[]){ 100, 105, 110 }, (uint64_t[]){ 0, 5000000, 25000000 }, (uint64_t[]){ 1, 2, 3 }, 3, "tree");
    assert_float_equal(timeline.line[TIMELINE_CPU][0], 1, 1e-9);
    assert_float_equal(timeline.line[TIMELINE_CPU][239], 1, 1e-9);
    assert_float_equal(timeline.line[TIMELINE_CPU][240], 4, 1e-9);
    assert_float_equal(timeline.line[TIMELINE_CPU][479], 4, 1e-9);
    assert_float_equal(sum_cpu_s(), 25, 1e-6);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_CPU), 4, 1e-9);
    assert_int_equal(timeline.samples, 3);
}

/* Each run has one sample before and one after, without processes. */
static void short_runs_make_no_timeline(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 9 * S);
    for (uint64_t i = 0; i < 9; i += 3)
        add_run((uint64_t[]){ i, i + 1 }, (uint64_t[]){ 0, 1000000 }, (uint64_t[]){ 0, 0 }, 2, "tree");
    timeline_end_host(&timeline);
    assert_int_equal(timeline.samples, 2);
    assert_true(isnan(timeline_peak(&timeline, TIMELINE_MEMORY)));
    assert_float_equal(timeline_peak(&timeline, TIMELINE_CPU), 1, 1e-9);
}

static void gauges_keep_their_maximum(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 8 * S);
    add((uint64_t[]){ 0, 1, 2, 3, 8 }, (uint64_t[]){ 0, 0, 0, 0, 0 }, (uint64_t[]){ 10, 90, 20, 5, 5 }, 5, "tree");
    double columns[4];
    timeline_resample(&timeline, TIMELINE_MEMORY, columns, 4);
    assert_float_equal(columns[0], 90, 0);
    assert_float_equal(columns[1], 20, 0);
    assert_float_equal(columns[2], 5, 0);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_MEMORY), 90, 0);
}

static void unknown_stays_unknown(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 10 * S);
    add((uint64_t[]){ 0, 2, 5 }, (uint64_t[]){ 0, UINT64_MAX, 5000000 },
        (uint64_t[]){ UINT64_MAX, UINT64_MAX, UINT64_MAX }, 3, "tree");
    double columns[2];
    timeline_resample(&timeline, TIMELINE_CPU, columns, 2);
    assert_float_equal(columns[0], 1, 1e-9);
    assert_true(isnan(columns[1]));
    assert_true(isnan(timeline_peak(&timeline, TIMELINE_MEMORY)));
    assert_true(isnan(timeline_peak(&timeline, TIMELINE_STORAGE)));
}

static void reset_counters_are_skipped(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 3 * S);
    add((uint64_t[]){ 0, 1, 2, 3 }, (uint64_t[]){ 5000000, 6000000, 100, 2000100 }, (uint64_t[]){ 1, 1, 1, 1 }, 4,
        "tree");
    double columns[3];
    timeline_resample(&timeline, TIMELINE_CPU, columns, 3);
    assert_float_equal(columns[0], 1, 1e-6);
    assert_true(isnan(columns[1]));
    assert_float_equal(columns[2], 2, 1e-6);
}

static void hosts_are_summed(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 10 * S);
    for (int host = 0; host < 3; host++)
        add((uint64_t[]){ 0, 10 }, (uint64_t[]){ 0, 20000000 }, (uint64_t[]){ 100, 100 }, 2, "tree");
    assert_float_equal(timeline_peak(&timeline, TIMELINE_CPU), 6, 1e-9);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_MEMORY), 300, 0);
}

static void concurrent_runs_are_summed(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 10 * S);
    for (int run = 0; run < 3; run++)
        add_run((uint64_t[]){ 0, 10 }, (uint64_t[]){ 0, 20000000 }, (uint64_t[]){ 100, 100 }, 2, "tree");
    timeline_end_host(&timeline);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_CPU), 6, 1e-9);
    assert_float_equal(timeline_mean(&timeline, TIMELINE_CPU), 6, 1e-9);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_MEMORY), 300, 1e-9);
}

/* Five in each bin, each of one second, with a pause of one second between them: not five at once. */
static void consecutive_runs_are_not_summed(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 10 * TIMELINE_BINS * S);
    for (uint64_t at = 0; at < 10 * TIMELINE_BINS; at += 2)
        add_run((uint64_t[]){ at, at + 1 }, (uint64_t[]){ 0, 2000000 }, (uint64_t[]){ 100 + at % 10, 100 }, 2, "tree");
    timeline_end_host(&timeline);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_CPU), 2, 1e-9);
    assert_float_equal(timeline_mean(&timeline, TIMELINE_CPU), 2, 1e-9);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_MEMORY), 108, 1e-9);
}

static void other_sets_and_times_are_ignored(void **state)
{
    (void)state;
    timeline_init(&timeline, 10 * S, 20 * S);
    add((uint64_t[]){ 10, 20 }, (uint64_t[]){ 0, 20000000 }, (uint64_t[]){ 1, 1 }, 2, "stat");
    assert_true(isnan(timeline_mean(&timeline, TIMELINE_CPU)));
    assert_true(isnan(timeline_peak(&timeline, TIMELINE_CPU)));
    add((uint64_t[]){ 0, 5, 30, 40 }, (uint64_t[]){ 0, 5000000, 30000000, 40000000 }, (uint64_t[]){ 1, 1, 1, 1 }, 4,
        "tree");
    assert_float_equal(sum_cpu_s(), 10, 1e-6);
    timeline_init(&timeline, 5 * S, 5 * S); /* zero length: no division by zero */
    add((uint64_t[]){ 0, 10 }, (uint64_t[]){ 0, 20000000 }, (uint64_t[]){ 1, 1 }, 2, "tree");
    assert_true(isnan(timeline_peak(&timeline, TIMELINE_CPU)));
}

static void widths_that_do_not_divide(void **state)
{
    (void)state;
    double columns[2 * TIMELINE_BINS];
    timeline_init(&timeline, 0, 7 * S);
    add((uint64_t[]){ 0, 7 }, (uint64_t[]){ 0, 14000000 }, (uint64_t[]){ 1, 1 }, 2, "tree");
    for (size_t width = 1; width <= 2 * TIMELINE_BINS; width += 7) {
        timeline_resample(&timeline, TIMELINE_CPU, columns, width);
        for (size_t i = 0; i < width; i++)
            assert_float_equal(columns[i], 2, 1e-9);
    }
}

/* From from_s to to_s, cores cores busy for users and a third as much for each of system, iowait and steal. */
static void add_machine(uint64_t from_s, uint64_t to_s, uint64_t cores)
{
    static const struct metric of_stat[] = {
        { "user", "us", COUNTER, U64, "" }, { "system", "us", COUNTER, U64, "" },
        { "idle", "us", COUNTER, U64, "" }, { "iowait", "us", COUNTER, U64, "" }, { "steal", "us", COUNTER, U64, "" },
    };
    uint64_t used_us = (to_s - from_s) * cores * 1000000, times_ns[] = { from_s * S, to_s * S };
    union value values[] = { { 7 },           { 0 },           { 0 },       { 0 },           { 0 },
                             { 7 + used_us }, { used_us / 3 }, { 3000000 }, { used_us / 3 }, { used_us / 3 } };
    uint8_t known[10];
    memset(known, 1, sizeof known);
    timeline_add(&timeline, &(struct run_series){ .set = { "stat", of_stat, 5 },
                                            .instance = "",
                                            .count = 2,
                                            .times_ns = times_ns,
                                            .values = values,
                                            .known = known });
}

static void load_of_the_node(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 10 * S);
    add_machine(0, 10, 3);
    timeline_end_host(&timeline);
    assert_float_equal(timeline_mean(&timeline, TIMELINE_NODE), 4, 1e-9);
    assert_float_equal(timeline_mean(&timeline, TIMELINE_IOWAIT), 1, 1e-9);
    assert_float_equal(timeline_mean(&timeline, TIMELINE_STEAL), 1, 1e-9);
    assert_true(isnan(timeline_mean(&timeline, TIMELINE_CPU)));
    assert_int_equal(timeline.samples, 0);
}

/* Two runs on it at the same time, a third after them, and another node. */
static void a_node_counts_once(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 10 * S);
    add_machine(0, 5, 3);
    add_machine(0, 5, 3);
    add_machine(5, 10, 3);
    timeline_end_host(&timeline);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_NODE), 4, 1e-9);
    assert_float_equal(timeline_mean(&timeline, TIMELINE_NODE), 4, 1e-9);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_STEAL), 1, 1e-9);
    add_machine(0, 10, 6);
    timeline_end_host(&timeline);
    timeline_end_host(&timeline); /* nothing was added since */
    assert_float_equal(timeline_peak(&timeline, TIMELINE_NODE), 12, 1e-9);
    assert_float_equal(timeline_mean(&timeline, TIMELINE_IOWAIT), 3, 1e-9);
}

/* Memory is PSS where it is known, else the sum of resident sizes, and never their sum. */
static void memory_counts_shared_pages_once(void **state)
{
    (void)state;
    static const struct metric both[] = { { "rss", "B", GAUGE, U64, "" }, { "pss", "B", GAUGE, U64, "" } };
    uint64_t times_ns[] = { 0, 5 * S, 10 * S };
    union value values[] = { { 800 }, { 100 }, { 900 }, { 0 }, { 800 }, { 120 } };
    uint8_t known[] = { 1, 1, 1, 0, 1, 1 };
    struct run_series series = { .set = { "tree", both, 2 }, .instance = "", .count = 3, .times_ns = times_ns,
                                 .values = values, .known = known };
    timeline_init(&timeline, 0, 10 * S);
    timeline_add(&timeline, &series);
    timeline_end_host(&timeline);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_MEMORY), 120, 1e-9);
}

static void no_more_cores_than_there_are(void **state)
{
    (void)state;
    timeline_init(&timeline, 0, 2 * S);
    add((uint64_t[]){ 0, 1, 2 }, (uint64_t[]){ 0, 500000, 3500000 }, (uint64_t[]){ 1, 1, 1 }, 3, "tree");
    timeline_limit(&timeline, TIMELINE_CPU, 0);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_CPU), 3, 1e-9);
    timeline_limit(&timeline, TIMELINE_CPU, 2);
    assert_float_equal(timeline_peak(&timeline, TIMELINE_CPU), 2, 1e-9);
    assert_float_equal(timeline.line[TIMELINE_CPU][0], 0.5, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_spread_over_their_interval),
        cmocka_unit_test(short_runs_make_no_timeline),
        cmocka_unit_test(gauges_keep_their_maximum),
        cmocka_unit_test(unknown_stays_unknown),
        cmocka_unit_test(reset_counters_are_skipped),
        cmocka_unit_test(hosts_are_summed),
        cmocka_unit_test(concurrent_runs_are_summed),
        cmocka_unit_test(consecutive_runs_are_not_summed),
        cmocka_unit_test(other_sets_and_times_are_ignored),
        cmocka_unit_test(load_of_the_node),
        cmocka_unit_test(a_node_counts_once),
        cmocka_unit_test(widths_that_do_not_divide),
        cmocka_unit_test(memory_counts_shared_pages_once),
        cmocka_unit_test(no_more_cores_than_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
