/* Peak memory of a job whose runs overlap: at one time, not per run. */
#include "store/peak.h"

#include "base/clock.h"
#include "tools/store_fixture.h"

#define START (1700000000 * NS_PER_S)
#define ROWS 4

/* A run of job "j" from a given second on, sampled every second; values in bytes, UINT64_MAX: unknown. */
static void save_on(struct store *store, const char *host, const char *id, uint64_t from_s, const uint64_t rss[ROWS],
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

static void save_test_run(struct store *store, const char *id, uint64_t from_s, const uint64_t rss[ROWS])
{
    save_on(store, "n", id, from_s, rss, 1);
}

static uint64_t peak(struct store *store)
{
    struct store_job job;
    assert_int_equal(store_job(store, "j", &job), OK);
    uint64_t bytes = job.summary.rss_peak_bytes;
    store_job_clear(&job);
    return bytes;
}

static void overlapping_runs_add_up(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    save_test_run(store, "a", 0, (uint64_t[]){ 0, 600, 600, 0 });
    assert_int_equal(peak(store), 600);
    save_test_run(store, "b", 0, (uint64_t[]){ 0, 610, UINT64_MAX, 0 });
    assert_int_equal(peak(store), 1210);
    save_test_run(store, "b", 0, (uint64_t[]){ 0, 10, 20, 0 }); /* replaces itself */
    assert_int_equal(peak(store), 620);
}

static void peaks_at_different_times_do_not_add_up(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    save_test_run(store, "a", 0, (uint64_t[]){ 0, 600, 100, 0 });
    save_test_run(store, "b", 0, (uint64_t[]){ 0, 50, 600, 0 }); /* memory moves from one run to the other */
    assert_int_equal(peak(store), 700);
}

static void consecutive_runs_do_not_add_up(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    save_test_run(store, "b", 10, (uint64_t[]){ 0, 500, 500, 0 });
    save_test_run(store, "a", 0, (uint64_t[]){ 0, 400, 450, 400 }); /* interrupted: its last sample is not 0 */
    assert_int_equal(peak(store), 500);
    save_test_run(store, "c", 3, (uint64_t[]){ 0, 300, 300, 0 }); /* starts as the first ends */
    assert_int_equal(peak(store), 500);
}

/* Half of them free what the others allocate: detected only while samples are read. */
static void with_very_many_runs_peaks_add_up(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    for (int i = 0; i <= PEAK_SAMPLED_MAX; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        if (i == PEAK_SAMPLED_MAX)
            assert_int_equal(peak(store), PEAK_SAMPLED_MAX / 2 * 600);
        save_test_run(store, id, 0, i % 2 ? (uint64_t[]){ 0, 600, 0, 0 } : (uint64_t[]){ 0, 0, 600, 0 });
    }
    assert_int_equal(peak(store), (PEAK_SAMPLED_MAX + 1) * 600);
}

/* Agents record no processes; the data of sonde run is preferred. */
static void node_peaks_add_up_without_recorded_runs(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    save_on(store, "n1", "agent/n1", 0, (uint64_t[]){ 100, 600, 100, 100 }, 0);
    save_on(store, "n2", "agent/n2", 1, (uint64_t[]){ 100, 100, 500, 100 }, 0);
    assert_int_equal(peak(store), 1100);
    save_on(store, "n1", "r", 0, (uint64_t[]){ 0, 300, 300, 0 }, 1);
    assert_int_equal(peak(store), 500);
}

/* Unreadable data must not prevent saving the run. */
static void with_damaged_samples_the_peaks_of_runs_count(void **state)
{
    struct store_fixture *fixture = *state;
    save_test_run(fixture->store, "a", 0, (uint64_t[]){ 0, 600, 600, 0 });
    fixture_exec(fixture->path, "UPDATE series SET data = x'ff'");
    save_test_run(fixture->store, "b", 0, (uint64_t[]){ 0, 610, 610, 0 });
    assert_int_equal(peak(fixture->store), 610);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(overlapping_runs_add_up),
        STORE_TEST(peaks_at_different_times_do_not_add_up),
        STORE_TEST(consecutive_runs_do_not_add_up),
        STORE_TEST(with_very_many_runs_peaks_add_up),
        STORE_TEST(node_peaks_add_up_without_recorded_runs),
        STORE_TEST(with_damaged_samples_the_peaks_of_runs_count),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
