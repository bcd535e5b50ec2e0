/* Program metrics: last samples, sums over hosts and runs. */
#include "analysis/job_metrics.h"

#include "analysis/metrics_fixture.h"
#include "tools/unit.h"

static void last_known_value_counts(void **state)
{
    (void)state;
    struct job_metrics metrics;
    job_metrics_init(&metrics);
    uint64_t times_ns[] = { 1, 2, 3 };
    union value values[] = { { .f64 = 1 }, { .f64 = 5 }, { .f64 = 99 } };
    uint8_t known[] = { 1, 1, 0 };
    struct run_series series = { .set = program_counter_set, .instance = "x", .count = 3, .times_ns = times_ns,
                                 .values = values, .known = known };
    assert_int_equal(job_metrics_add(&metrics, "n1", &series), OK);
    assert_int_equal(metrics.tables[JOB_METRICS_COUNTER].count, 1);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_COUNTER, 0, 0) == 5);
    series.count = 0;
    assert_int_equal(job_metrics_add(&metrics, "n1", &series), OK);
    job_metrics_clear(&metrics);
}

static void parts_are_added_and_duplicates_count_once(void **state)
{
    (void)state;
    struct job_metrics metrics;
    double three[] = { 3 }, calls[MPI_SIZE] = { 10, 4e9, 7, NAN, NAN, NAN, NAN, NAN, NAN };
    job_metrics_init(&metrics);
    metrics_fixture_between(&metrics, &program_counter_set, "x", 1, 2, three);
    metrics_fixture_between(&metrics, &program_counter_set, "x", 1, 2, three); /* another host */
    assert_true(job_metrics_value(&metrics, JOB_METRICS_COUNTER, 0, 0) == 6);
    metrics_fixture_between(&metrics, &syscall_set, "read", 10, 20, (double[]){ 9, 5, 100, 1e9 });
    metrics_fixture_between(&metrics, &syscall_set, "read", 30, 40, (double[]){ 8, 4, 70, 2e9 }); /* another run */
    const double *reads = job_metrics_values(&metrics, JOB_METRICS_SYSCALL, 0);
    assert_true(reads[SYSCALL_CALLS] == 17 && reads[SYSCALL_ERRORS] == 9 && reads[SYSCALL_BYTES] == 170
                && reads[SYSCALL_TIME] == 3e9);
    metrics_fixture_between(&metrics, &mpi_set, "0/MPI_Send", 10, 20, calls);
    metrics_fixture_of(&metrics, "agent of n1", &mpi_set, "0/MPI_Send", 11, 19, calls); /* by an agent and by sonde run */
    assert_true(job_metrics_value(&metrics, JOB_METRICS_MPI, 0, MPI_CALLS) == 10);
    metrics_fixture_between(&metrics, &mpi_set, "0/MPI_Send", 30, 40, calls); /* a second mpirun */
    assert_true(job_metrics_value(&metrics, JOB_METRICS_MPI, 0, MPI_CALLS) == 20);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_MPI, 0, MPI_TIME) == 8e9);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_MPI, 0, MPI_BYTES_OUT) == 14);
    metrics_fixture_of(&metrics, "agent of n2", &mpi_set, "0/MPI_Send", 12, 15, calls); /* another rank on another host */
    metrics_fixture_of(&metrics, "agent of n3", &mpi_set, "0/MPI_Send", 50, 60, calls);
    metrics_fixture_of(&metrics, "agent of n4", &mpi_set, "0/MPI_Send", 50, 60, calls);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_MPI, 0, MPI_CALLS) == 40);
    job_metrics_clear(&metrics);
}

/* Two runs on one host and one on another: sum, minimum, maximum, mean, number of programs. */
static void gauges_keep_minimum_and_maximum(void **state)
{
    (void)state;
    struct job_metrics metrics;
    job_metrics_init(&metrics);
    metrics_fixture_between(&metrics, &program_gauge_set, "level", 1, 2, (double[]){ 5, 5, 5, 5, 1 });
    metrics_fixture_between(&metrics, &program_gauge_set, "level", 100, 120, (double[]){ 16, 7, 9, 8, 2 });
    const double *level = job_metrics_values(&metrics, JOB_METRICS_GAUGE, 0);
    assert_true(level[PROGRAM_GAUGE_MIN] == 5 && level[PROGRAM_GAUGE_MAX] == 9);
    assert_true(level[PROGRAM_GAUGE_SUM] == 21 && level[PROGRAM_GAUGE_PROGRAMS] == 3 && level[PROGRAM_GAUGE_MEAN] == 7);
    metrics_fixture_of(&metrics, "n2", &program_gauge_set, "level", 100, 120, (double[]){ 3, 3, 3, 3, 1 });
    assert_true(level[PROGRAM_GAUGE_MIN] == 3 && level[PROGRAM_GAUGE_MAX] == 9 && level[PROGRAM_GAUGE_MEAN] == 6);
    job_metrics_clear(&metrics);
}

/* Recorded on a host from from_s to to_s: 100 reads or so. */
static void see(struct job_metrics *metrics, const char *host, bool by_agent, uint64_t from_s, uint64_t to_s,
                uint64_t calls)
{
    uint64_t times_ns[2] = { from_s * 1000000000ull, to_s * 1000000000ull };
    union value values[2 * SYSCALL_SIZE] = { 0 };
    uint8_t known[2 * SYSCALL_SIZE] = { 0 };
    values[SYSCALL_SIZE + SYSCALL_CALLS].u64 = calls;
    known[SYSCALL_SIZE + SYSCALL_CALLS] = 1;
    struct run_series series = { .set = syscall_set, .instance = "read", .count = 2, .times_ns = times_ns,
                                .values = values,
                                 .known = known, .by_agent = by_agent };
    assert_int_equal(job_metrics_add(metrics, host, &series), OK);
}

/* A restarted agent counts system calls from 0, and continues all other totals. */
static void restarted_agent_counts_are_added(void **state)
{
    (void)state;
    struct job_metrics metrics;
    uint64_t times_ns[] = { 1, 2, 3, 4, 5 };
    union value values[5 * SYSCALL_SIZE] = { 0 };
    uint8_t known[5 * SYSCALL_SIZE] = { 0 };
    const uint64_t calls[] = { 10, 100, 0, 7, 30 };
    for (size_t i = 0; i < 5; i++) {
        values[i * SYSCALL_SIZE + SYSCALL_CALLS].u64 = calls[i];
        known[i * SYSCALL_SIZE + SYSCALL_CALLS] = i != 2;
    }
    struct run_series series = { .set = syscall_set, .instance = "read", .count = 5, .times_ns = times_ns,
                                .values = values,
                                 .known = known, .by_agent = true };
    job_metrics_init(&metrics);
    assert_int_equal(job_metrics_add(&metrics, "n1", &series), OK);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 0, SYSCALL_CALLS) == 130);
    assert_true(isnan(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 0, SYSCALL_ERRORS)));
    series.by_agent = false;
    series.instance = "write";
    assert_int_equal(job_metrics_add(&metrics, "n1", &series), OK);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 1, SYSCALL_CALLS) == 30);
    job_metrics_clear(&metrics);
}

static void agent_and_run_count_once(void **state)
{
    (void)state;
    struct job_metrics metrics;
    job_metrics_init(&metrics);
    see(&metrics, "n1", true, 100, 200, 50);
    see(&metrics, "n1", false, 110, 150, 20); /* two runs in what the agent counts */
    see(&metrics, "n1", false, 160, 190, 25);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 0, SYSCALL_CALLS) == 50);
    see(&metrics, "n1", false, 10, 20, 7); /* before the agent was asked to */
    assert_true(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 0, SYSCALL_CALLS) == 57);
    see(&metrics, "n2", false, 100, 200, 1000); /* the run first, and the agent late */
    see(&metrics, "n2", true, 150, 200, 600);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 0, SYSCALL_CALLS) == 1057);
    see(&metrics, "n3", true, 100, 200, 1);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 0, SYSCALL_CALLS) == 1058);
    assert_int_equal(metrics.tables[JOB_METRICS_SYSCALL].count, 1);
    job_metrics_clear(&metrics);
}

static void run_counts_from_its_start(void **state)
{
    (void)state;
    struct job_metrics metrics;
    uint64_t time_ns = 200000000000;
    union value values[SYSCALL_SIZE] = { [SYSCALL_CALLS] = { .u64 = 40 } };
    uint8_t known[SYSCALL_SIZE] = { [SYSCALL_CALLS] = 1 };
    struct run_series series = { .set = syscall_set, .instance = "read", .count = 1, .times_ns = &time_ns,
                                .values = values,
                                 .known = known, .start_ns = 90000000000 };
    job_metrics_init(&metrics);
    see(&metrics, "n1", true, 100, 120, 30); /* then the agent was killed */
    assert_int_equal(job_metrics_add(&metrics, "n1", &series), OK);
    assert_true(job_metrics_value(&metrics, JOB_METRICS_SYSCALL, 0, SYSCALL_CALLS) == 40);
    job_metrics_clear(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_known_value_counts),
        cmocka_unit_test(parts_are_added_and_duplicates_count_once),
        cmocka_unit_test(gauges_keep_minimum_and_maximum),
        cmocka_unit_test(restarted_agent_counts_are_added),
        cmocka_unit_test(agent_and_run_count_once),
        cmocka_unit_test(run_counts_from_its_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
