/* Program metrics: last samples, sums over hosts and runs, statistics of MPI and system calls, invalid names. */
#include "analysis/syscall_stats.h"
#include "analysis/mpi.h"

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
    double three[] = { 3 }, calls[MPI_SIZE] = { 10, 4e9, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    job_metrics_init(&metrics);
    metrics_fixture_between(&metrics, &program_counter_set, "x", 1, 2, three);
    metrics_fixture_between(&metrics, &program_counter_set, "x", 1, 2, three); /* another host */
    assert_true(job_metrics_value(&metrics, JOB_METRICS_COUNTER, 0, 0) == 6);
    metrics_fixture_between(&metrics, &mpi_set, "0/MPI_Send", 10, 20, calls);
    metrics_fixture_of(&metrics, "agent of n1", &mpi_set, "0/MPI_Send", 11, 19, calls); /* by an agent and by sonde run */
    assert_true(job_metrics_value(&metrics, JOB_METRICS_MPI, 0, MPI_CALLS) == 10);
    metrics_fixture_between(&metrics, &mpi_set, "0/MPI_Send", 30, 40, calls); /* a second mpirun */
    assert_true(job_metrics_value(&metrics, JOB_METRICS_MPI, 0, MPI_CALLS) == 20);
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

static void mpi_statistics(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    telling_example(&metrics);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.rank_count, 4);
    assert_int_equal(mpi.function_count, 3);
    assert_string_equal(mpi.functions[0].name, "MPI_Barrier");
    assert_true(mpi.functions[0].sum.calls == 40 && fabs(mpi.functions[0].sum.time_s - 22) < 1e-9);
    assert_true(fabs(mpi_share(&mpi) - 24.0 / 40) < 1e-9);
    assert_int_equal(mpi.ranks[mpi.longest].name.rank, 3);
    assert_true(fabs(mpi.own_max_s - 8) < 1e-9 && fabs(mpi.own_mean_s - 3.5) < 1e-9);
    assert_true(fabs(mpi.others_wait_share - 0.65) < 1e-9);
    assert_true(mpi.late_count == 1 && mpi.ranks[3].is_late && !mpi.ranks[0].is_late);
    assert_true(mpi_waits(&mpi.ranks[0], 0.6) && !mpi_waits(&mpi.ranks[3], 0.1));
    assert_true(mpi.ranks[0].sum.calls == 150010 && mpi.ranks[0].sum.small == 150000);
    assert_int_equal(mpi.pair_count, 2);
    assert_int_equal(mpi.pairs[0].from.rank, 2);
    assert_true(mpi.messages == 150001);
    assert_true(isnan(mpi.requests_lost));
    mpi_clear(&mpi);
    metrics_fixture(&metrics, &program_counter_set, "mpi_requests_lost_total", (double[]){ 3616 });
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi.requests_lost == 3616);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* Ranks of 10 s, given by their own work outside of MPI and their waits. */
static void telling_works(struct job_metrics *metrics, size_t count, const double *own_s, const double *wait_s)
{
    char name[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%zu/", i);
        metrics_fixture_mpi(metrics, name, 1, 10 - own_s[i], NAN, NAN, wait_s[i], NAN, 10);
    }
}
#define TELLING_WORKS(metrics, own_s, wait_s) telling_works(metrics, sizeof(own_s) / sizeof *(own_s), own_s, wait_s)

/* One rank distributes work and waits for all others: none of them is late alone. */
static void several_ranks_are_late(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    TELLING_WORKS(&metrics, ((double[]){ 0.1, 9, 9.1, 8.9 }), ((double[]){ 9, 0.1, 0, 0.2 }));
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.longest, 2);
    assert_int_equal(mpi.late_count, 3);
    assert_true(!mpi.ranks[0].is_late && mpi.ranks[1].is_late && mpi.ranks[2].is_late && mpi.ranks[3].is_late);
    assert_true(fabs(mpi.others_wait_share - 0.9) < 1e-9); /* of the waiting rank */
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* They are late in turns, or wait for the network: a slightly longer rank is not to blame. */
static void no_rank_is_late(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    TELLING_WORKS(&metrics, ((double[]){ 3, 3, 3.1 }), ((double[]){ 6, 6, 6 }));
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.longest, 2);
    assert_true(mpi.late_count == 0 && !mpi.ranks[2].is_late && isnan(mpi.others_wait_share));
    assert_true(mpi_waits(&mpi.ranks[2], 0.5));
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* File I/O through MPI counts as a rank's own work. */
static void file_io_is_own_work(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    TELLING_WORKS(&metrics, ((double[]){ 1, 0.5 }), ((double[]){ 7, 0 }));
    metrics_fixture_mpi(&metrics, "1/MPI_File_write_at_all", 5, 8, 1e9, NAN, 0.5, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi.longest == 1 && mpi.late_count == 1 && fabs(mpi.own_max_s - 8) < 1e-9);
    assert_string_equal(mpi_own_where(&mpi), "outside of MPI and on files");
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* Ranks that are in MPI_Finalize longer than the last one to arrive waited there. */
static void waits_in_finalize(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    TELLING_WORKS(&metrics, ((double[]){ 1, 9, 1 }), ((double[]){ 0, 0, 0 }));
    metrics_fixture_mpi(&metrics, "0/MPI_Finalize", 1, 8.5, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "1/MPI_Finalize", 1, 0.5, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(isnan(mpi.all.wait_s) && mpi.late_count == 0 && mpi.unended_count == 1); /* one did not get there */
    mpi_clear(&mpi);
    metrics_fixture_mpi(&metrics, "2/MPI_Finalize", 1, 8, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(fabs(mpi.ranks[0].sum.wait_s - 8) < 1e-9 && mpi.ranks[1].sum.wait_s == 0);
    assert_true(fabs(mpi.all.wait_s - 15.5) < 1e-9);
    assert_true(mpi.late_count == 1 && mpi.ranks[1].is_late && fabs(mpi.others_wait_share - 0.775) < 1e-9);
    assert_int_equal(mpi.unended_count, 0);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* Concurrent threads in MPI take more time than has elapsed. */
static void concurrent_threads_have_no_share(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    TELLING_WORKS(&metrics, ((double[]){ -30, 9 }), ((double[]){ 39, 0 }));
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi_has_threads(&mpi.ranks[0]) && !mpi_has_threads(&mpi.ranks[1]));
    assert_true(isnan(mpi_share(&mpi)) && isnan(mpi.own_max_s) && isnan(mpi.own_mean_s) && isnan(mpi.others_wait_share));
    assert_true(!mpi_waits(&mpi.ranks[0], 0.1) && isnan(mpi_own_s(&mpi.ranks[0])) && mpi.late_count == 0);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
    job_metrics_init(&metrics);
    metrics_fixture(&metrics, &mpi_set, "0/", (double[MPI_SIZE]){ 1, 9e9, NAN, NAN, 9e9, NAN, 10e9, 1,
                                                         2 }); /* one waits for messages */
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi_has_threads(&mpi.ranks[0]) && isnan(mpi_share(&mpi)) && !mpi_waits(&mpi.ranks[0], 0.1));
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* Ranks with the same number in three worlds: the second has one that makes the other wait. */
static void worlds_are_separate(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    metrics_fixture_mpi(&metrics, "0/", 1, 1, NAN, NAN, 0, 0, 2);
    metrics_fixture_mpi(&metrics, "0#2/", 3, 1, NAN, NAN, 0, 0, 3);
    metrics_fixture_mpi(&metrics, "1@1/", 2, 8, NAN, NAN, 8, 0, 10);
    metrics_fixture_mpi(&metrics, "0@1/", 2, 1, NAN, NAN, 0, 0, 10);
    metrics_fixture_mpi(&metrics, "0@1/MPI_Send", 2, 1, 8, NAN, 0, 0, NAN);
    metrics_fixture(&metrics, &mpi_peer_set, "0@1>1@1", (double[]){ 2, 8 });
    metrics_fixture(&metrics, &mpi_peer_set, "0>1", (double[]){ 1, 4 });
    metrics_fixture(&metrics, &mpi_peer_set, "0@1>elsewhere", (double[]){ 3, 2 });
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.rank_count, 4);
    assert_int_equal(rank_name_compare(mpi.ranks[1].name, (struct rank_name){ 0, 1, 1 }), 0);
    assert_int_equal(rank_name_compare(mpi.ranks[3].name, (struct rank_name){ 0, 2, 0 }), 0);
    assert_true(mpi.ranks[0].sum.calls == 1 && mpi.ranks[1].sum.out_bytes == 8);
    assert_int_equal(mpi.longest, 1);
    assert_true(fabs(mpi.others_wait_share - 0.8) < 1e-9 && fabs(mpi.own_mean_s - 5.5) < 1e-9);
    assert_int_equal(mpi.pair_count, 3);
    assert_int_equal(mpi.pairs[0].to.world, 1);
    assert_true(mpi.pairs[2].is_elsewhere && !mpi.pairs[1].is_elsewhere && mpi.pairs[2].from.world == 1);
    assert_true(mpi.messages == 6 && mpi.messages_elsewhere == 3 && mpi.bytes_elsewhere == 2);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

static void metrics_fixture_world(struct job_metrics *metrics, const char *host, const char *instance, uint64_t from_s,
                                  double ranks)
{
    metrics_fixture_of(metrics, host, &mpi_set, instance, from_s, from_s + 9, (double[MPI_SIZE]){ 1, 1, NAN, NAN, 0, 0, 2, ranks,
                                                                                         NAN });
}

static void unrecorded_ranks_are_counted(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    metrics_fixture_world(&metrics, "n1", "0/", 10, 8);
    metrics_fixture_world(&metrics, "n1", "0/", 30, 4); /* a second mpirun with fewer ranks */
    metrics_fixture_world(&metrics, "n1", "1/", 10, 8);
    metrics_fixture_world(&metrics, "agent of n2", "5/", 10, 8);
    metrics_fixture_world(&metrics, "n1", "0@1/", 10, 2);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.rank_count, 4);
    assert_true(mpi.rank_total == 8 + 2);
    mpi_clear(&mpi);
    metrics_fixture_world(&metrics, "n1", "0#2/", 10, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi.rank_count == 5 && isnan(mpi.rank_total));
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

static void invalid_names_are_ignored(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "/", "x/MPI_Send", "-1/MPI_Send", "99999999999/MPI_Send", "3", " 3/MPI_Send",
                                       "3#/MPI_Send", "3@/MPI_Send", "3@x/MPI_Send", "3@1#2/MPI_Send",
                                           "3#1@ 1/MPI_Send" };
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        metrics_fixture_mpi(&metrics, bad[i], 1, 1, 1, 1, 1, 1, 1);
    metrics_fixture(&metrics, &mpi_peer_set, "1>", (double[]){ 1, 1 });
    metrics_fixture(&metrics, &mpi_peer_set, ">1", (double[]){ 1, 1 });
    metrics_fixture(&metrics, &mpi_peer_set, "1>2>3", (double[]){ 1, 1 });
    metrics_fixture(&metrics, &mpi_peer_set, "1>elsewhere>3", (double[]){ 1, 1 });
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.rank_count, 0);
    assert_int_equal(mpi.function_count, 0);
    assert_int_equal(mpi.pair_count, 0);
    assert_true(isnan(mpi_share(&mpi)));
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* The time of one rank is not the time of both, and how long the other worked is unknown. */
static void mixed_ranks_have_no_share(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    metrics_fixture_mpi(&metrics, "0/MPI_Barrier", 5, 4, NAN, NAN, 3, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/", 5, 4, 0, 0, 3, 0, 10);
    metrics_fixture_mpi(&metrics, "1/MPI_Barrier", 5, NAN, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "1/", 5, NAN, NAN, NAN, NAN, NAN, 10);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(isnan(mpi_share(&mpi)) && isnan(mpi.own_max_s) && isnan(mpi.own_mean_s));
    assert_true(mpi.all.time_s == 4 && mpi.all.calls == 10);
    assert_true(mpi.ranks[0].life_s == 10 && isnan(mpi.ranks[1].life_s) && isnan(mpi.life_s));
    assert_true(mpi_waits(&mpi.ranks[0], 0.1) && !mpi_waits(&mpi.ranks[1], 0.1));
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

static void counts_without_times(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    metrics_fixture_mpi(&metrics, "0/MPI_Send", 5, NAN, 10, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/MPI_Recv", 9, NAN, 10, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/MPI_Finalize", 1, NAN, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/", 15, NAN, NAN, NAN, NAN, NAN, 10);
    metrics_fixture_mpi(&metrics, "1/MPI_Recv", 1, NAN, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "1/", 1, NAN, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_string_equal(mpi.functions[0].name, "MPI_Recv");
    assert_true(isnan(mpi_share(&mpi)) && isnan(mpi.own_max_s) && isnan(mpi.all.time_s));
    assert_true(mpi.ranks[0].has_ended && !mpi.ranks[1].has_ended && mpi.unended_count == 1);
    assert_true(isnan(mpi.ranks[0].life_s) && isnan(mpi.life_s));
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

static void syscall_statistics(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct syscall_stats calls;
    job_metrics_init(&metrics);
    telling_example(&metrics);
    assert_int_equal(syscall_stats_read(&calls, &metrics), OK);
    assert_int_equal(calls.count, 3);
    assert_string_equal(calls.list[0].name, "futex");
    assert_true(syscall_stats_waits(&calls.list[0]) && !syscall_stats_waits(&calls.list[1]));
    assert_true(calls.all.calls == 275000); /* classes are not added to the calls they are part of */
    assert_int_equal(calls.class_count, 2);
    assert_string_equal(syscall_stats_class(&calls.classes[0]), "file:ext4");
    assert_string_equal(syscall_stats_class(&calls.list[1]), "");
    syscall_stats_clear(&calls);
    job_metrics_clear(&metrics);
}

/* Two runs, one of which does not know the number of calls. */
static void bytes_without_calls(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct syscall_stats calls;
    job_metrics_init(&metrics);
    metrics_fixture_call(&metrics, "read/other", NAN, NAN, 500, NAN);
    metrics_fixture_call(&metrics, "read/other", 7, NAN, 70, NAN);
    metrics_fixture_call(&metrics, "write/other", 3, NAN, 30, NAN);
    metrics_fixture_call(&metrics, "write/pipe", 0, NAN, 0, NAN);
    assert_int_equal(syscall_stats_read(&calls, &metrics), OK);
    assert_int_equal(calls.class_count, 2);
    assert_string_equal(calls.classes[0].name, "write/other");
    assert_true(calls.classes[0].calls == 3 && calls.classes[0].bytes == 30);
    assert_true(isnan(calls.classes[1].calls) && calls.classes[1].bytes == 570);
    syscall_stats_clear(&calls);
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
        cmocka_unit_test(mpi_statistics),
        cmocka_unit_test(several_ranks_are_late),
        cmocka_unit_test(no_rank_is_late),
        cmocka_unit_test(file_io_is_own_work),
        cmocka_unit_test(waits_in_finalize),
        cmocka_unit_test(concurrent_threads_have_no_share),
        cmocka_unit_test(worlds_are_separate),
        cmocka_unit_test(unrecorded_ranks_are_counted),
        cmocka_unit_test(invalid_names_are_ignored),
        cmocka_unit_test(counts_without_times),
        cmocka_unit_test(mixed_ranks_have_no_share),
        cmocka_unit_test(syscall_statistics),
        cmocka_unit_test(bytes_without_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
