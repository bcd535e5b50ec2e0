/* The most memory of a job whose runs were there at the same time: of the same moment, not of each run. */
#include "store/peak.h"

#include "base/clock.h"
#include "tools/store_fixture.h"

#define START (1700000000 * NS_PER_S)
#define ROWS 4

/* A run of job "j" from a second on, sampled each second; the values are bytes, UINT64_MAX: not known. */
static void file_on(struct store *store, const char *host, const char *id, uint64_t from_s, const uint64_t rss[ROWS],
                    size_t processes)
{
    static const struct metric metrics[] = { { "cpu", "us", COUNTER, U64, "" }, { SUMMARY_RSS_METRIC, "B", GAUGE, U64, "" } };
    uint64_t times_ns[ROWS], start_ns = START + from_s * NS_PER_S;
    union value values[2 * ROWS];
    uint8_t known[2 * ROWS];
    for (uint64_t i = 0; i < ROWS; i++) {
        times_ns[i] = start_ns + i * NS_PER_S;
        values[2 * i].u64 = i;
        values[2 * i + 1].u64 = rss[i];
        known[2 * i] = 1;
        known[2 * i + 1] = rss[i] != UINT64_MAX;
    }
    struct run_series series = { .set = { SUMMARY_TREE_SET, metrics, 2 }, .instance = "", .count = ROWS, .times_ns = times_ns,
                                 .values = values, .known = known };
    struct process process = { .pid = 1, .parent = PROCESS_NO_PARENT, .start_ns = start_ns, .end_ns = start_ns + 1 };
    fixture_file(store, &(struct run){ .id = bytes_of(id), .job_id = bytes_of("j"), .host.name = bytes_of(host),
        .start_ns = start_ns, .end_ns = start_ns + (ROWS - 1) * NS_PER_S, .ended = true, .series = &series,
        .series_count = 1, .processes = &process, .process_count = processes });
}

static void file_run(struct store *store, const char *id, uint64_t from_s, const uint64_t rss[ROWS])
{
    file_on(store, "n", id, from_s, rss, 1);
}

static uint64_t peak(struct store *store)
{
    struct store_job job;
    assert_int_equal(store_job(store, "j", &job), OK);
    uint64_t bytes = job.summary.rss_peak_bytes;
    store_job_clear(&job);
    return bytes;
}

static void runs_at_the_same_time_add_up(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    file_run(store, "a", 0, (uint64_t[]){ 0, 600, 600, 0 });
    assert_int_equal(peak(store), 600);
    file_run(store, "b", 0, (uint64_t[]){ 0, 610, UINT64_MAX, 0 });
    assert_int_equal(peak(store), 1210);
    file_run(store, "b", 0, (uint64_t[]){ 0, 10, 20, 0 }); /* in place of itself */
    assert_int_equal(peak(store), 620);
}

static void peaks_of_different_moments_do_not(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    file_run(store, "a", 0, (uint64_t[]){ 0, 600, 100, 0 });
    file_run(store, "b", 0, (uint64_t[]){ 0, 50, 600, 0 }); /* what the one gives back, the other takes at that moment */
    assert_int_equal(peak(store), 700);
}

static void runs_one_after_the_other_do_not(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    file_run(store, "b", 10, (uint64_t[]){ 0, 500, 500, 0 });
    file_run(store, "a", 0, (uint64_t[]){ 0, 400, 450, 400 }); /* cut off: its last sample had something */
    assert_int_equal(peak(store), 500);
    file_run(store, "c", 3, (uint64_t[]){ 0, 300, 300, 0 }); /* begins as the first ends */
    assert_int_equal(peak(store), 500);
}

/* Half of them give back what the others take: as long as the samples are read, that is seen. */
static void of_very_many_runs_the_peaks_add_up(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    for (int i = 0; i <= PEAK_SAMPLED_MAX; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        if (i == PEAK_SAMPLED_MAX)
            assert_int_equal(peak(store), PEAK_SAMPLED_MAX / 2 * 600);
        file_run(store, id, 0, i % 2 ? (uint64_t[]){ 0, 600, 0, 0 } : (uint64_t[]){ 0, 0, 600, 0 });
    }
    assert_int_equal(peak(store), (PEAK_SAMPLED_MAX + 1) * 600);
}

/* Agents see no processes; what sonde run saw counts more. */
static void nodes_add_up_where_nobody_watched(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    file_on(store, "n1", "agent/n1", 0, (uint64_t[]){ 100, 600, 100, 100 }, 0);
    file_on(store, "n2", "agent/n2", 1, (uint64_t[]){ 100, 100, 500, 100 }, 0);
    assert_int_equal(peak(store), 1100);
    file_on(store, "n1", "r", 0, (uint64_t[]){ 0, 300, 300, 0 }, 1);
    assert_int_equal(peak(store), 500);
}

/* What cannot be read is no reason to lose the run that is filed. */
static void damage_leaves_the_peaks_of_the_runs(void **state)
{
    struct store_fixture *fixture = *state;
    file_run(fixture->store, "a", 0, (uint64_t[]){ 0, 600, 600, 0 });
    fixture_exec(fixture->path, "UPDATE series SET data = x'ff'");
    file_run(fixture->store, "b", 0, (uint64_t[]){ 0, 610, 610, 0 });
    assert_int_equal(peak(fixture->store), 610);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(runs_at_the_same_time_add_up),
        STORE_TEST(peaks_of_different_moments_do_not),
        STORE_TEST(runs_one_after_the_other_do_not),
        STORE_TEST(of_very_many_runs_the_peaks_add_up),
        STORE_TEST(nodes_add_up_where_nobody_watched),
        STORE_TEST(damage_leaves_the_peaks_of_the_runs),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
