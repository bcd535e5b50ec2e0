/* MPI statistics: sums by rank, function and pair, the ranks that others wait for, worlds, what is unknown. */
#include "analysis/mpi.h"

#include "analysis/metrics_fixture.h"
#include "tools/unit.h"

static void mpi_statistics(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    metrics_fixture_example(&metrics);
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
static void set_own_work(struct job_metrics *metrics, size_t count, const double *own_s, const double *wait_s)
{
    char name[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%zu/", i);
        metrics_fixture_mpi(metrics, name, 1, 10 - own_s[i], NAN, NAN, wait_s[i], NAN, 10);
    }
}
#define SET_OWN_WORK(metrics, own_s, wait_s) set_own_work(metrics, sizeof(own_s) / sizeof *(own_s), own_s, wait_s)

/* One rank distributes work and waits for all others: none of them is late alone. */
static void several_ranks_are_late(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    SET_OWN_WORK(&metrics, ((double[]){ 0.1, 9, 9.1, 8.9 }), ((double[]){ 9, 0.1, 0, 0.2 }));
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.longest, 2);
    assert_int_equal(mpi.late_count, 3);
    assert_true(!mpi.ranks[0].is_late && mpi.ranks[1].is_late && mpi.ranks[2].is_late && mpi.ranks[3].is_late);
    assert_true(fabs(mpi.others_wait_share - 0.9) < 1e-9); /* of the waiting rank */
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* At the limits: as late as the longest rank is the top tenth of the range; half of the waits have to be explained. Of two
 * ranks that worked as long, the first one counts as the longest. */
static void limits_of_late_ranks(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    SET_OWN_WORK(&metrics, ((double[]){ 0, 9, 10, 10 }), ((double[]){ 9, 0, 0, 0 }));
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.longest, 2);
    assert_true(mpi.late_count == 3 && mpi.ranks[1].is_late);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
    job_metrics_init(&metrics);
    SET_OWN_WORK(&metrics, ((double[]){ 2, 4 }), ((double[]){ 4, 0 }));
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi.late_count == 1 && mpi.ranks[1].is_late);
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
    SET_OWN_WORK(&metrics, ((double[]){ 3, 3, 3.1 }), ((double[]){ 6, 6, 6 }));
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
    SET_OWN_WORK(&metrics, ((double[]){ 1, 0.5 }), ((double[]){ 7, 0 }));
    metrics_fixture_mpi(&metrics, "1/MPI_File_write_at_all", 5, 8, 1e9, NAN, 0.5, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi.longest == 1 && mpi.late_count == 1 && fabs(mpi.own_max_s - 8) < 1e-9);
    assert_string_equal(mpi_own_where(&mpi), "outside of MPI and on files");
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* Pairs with the same number of bytes come in order of their ranks. */
static void order_of_pairs(void **state)
{
    (void)state;
    static const struct { const char *name; uint32_t from, to; } want[] = {
        { "5>1", 5, 1 }, { "0>1", 0, 1 }, { "0>2", 0, 2 }, { "1>0", 1, 0 }, { "2>0", 2, 0 }, { "3>4", 3, 4 },
    };
    static const double bytes[] = { 9, 8, 8, 8, 8, 7 };
    static const size_t order[] = { 3, 2, 5, 4, 0, 1 };
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    for (size_t i = 0; i < 6; i++)
        metrics_fixture(&metrics, &mpi_peer_set, want[order[i]].name, (double[]){ 1, bytes[order[i]] });
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.pair_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(mpi.pairs[i].from.rank, want[i].from);
        assert_int_equal(mpi.pairs[i].to.rank, want[i].to);
    }
    assert_true(mpi.messages == 6 && mpi.message_bytes == 48);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* Functions with equal times: most calls first, then by name. */
static void order_of_functions(void **state)
{
    (void)state;
    static const char *const want[] = { "MPI_Wait", "MPI_Send", "MPI_Bcast", "MPI_Recv", "MPI_Init" };
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    metrics_fixture_mpi(&metrics, "0/MPI_Init", 9, 0, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/MPI_Recv", 2, 1, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/MPI_Bcast", 2, 1, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/MPI_Send", 3, 1, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/MPI_Wait", 1, 2, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(mpi.function_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(mpi.functions[i].name, want[i]);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

/* A rank has ended when its last call returned: it has a time. A program with MPI sessions calls MPI_Session_finalize. */
static void ranks_that_have_ended(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    job_metrics_init(&metrics);
    SET_OWN_WORK(&metrics, ((double[]){ 5, 5, 5, 5 }), ((double[]){ 0, 0, 0, 0 }));
    metrics_fixture_mpi(&metrics, "0/MPI_Finalize", 1, 1, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "1/MPI_Session_finalize", 1, 1, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "2/MPI_Finalize", 1, 0, NAN, NAN, NAN, NAN, NAN); /* has not returned */
    metrics_fixture_mpi(&metrics, "3/MPI_Finalized", 1, 1, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(mpi.ranks[0].has_ended && mpi.ranks[1].has_ended && !mpi.ranks[2].has_ended && !mpi.ranks[3].has_ended);
    assert_true(mpi.ranks[2].is_ending && !mpi.ranks[3].is_ending);
    assert_int_equal(mpi.unended_count, 2);
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
    SET_OWN_WORK(&metrics, ((double[]){ 1, 9, 1 }), ((double[]){ 0, 0, 0 }));
    metrics_fixture_mpi(&metrics, "0/MPI_Finalize", 1, 8.5, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "1/MPI_Finalize", 1, 0.5, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0@1/MPI_Send", 1, 99, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(isnan(mpi.all.wait_s) && mpi.late_count == 0 && mpi.unended_count == 1); /* one did not get there */
    mpi_clear(&mpi);
    metrics_fixture_mpi(&metrics, "2/MPI_Finalize", 1, 8, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(fabs(mpi.ranks[0].sum.wait_s - 8) < 1e-9 && mpi.ranks[1].sum.wait_s == 0);
    assert_true(fabs(mpi.all.wait_s - 15.5) < 1e-9);
    assert_string_equal(mpi.functions[1].name, "MPI_Finalize");
    assert_true(fabs(mpi.functions[1].sum.wait_s - 15.5) < 1e-9 && isnan(mpi.functions[0].sum.wait_s));
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
    SET_OWN_WORK(&metrics, ((double[]){ -30, 9 }), ((double[]){ 39, 0 }));
    metrics_fixture_mpi(&metrics, "0/MPI_Recv", 1, 40, NAN, NAN, 39, NAN, NAN);
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
    job_metrics_init(&metrics); /* several threads were allowed to, but only one called MPI */
    metrics_fixture(&metrics, &mpi_set, "0/", (double[MPI_SIZE]){ 1, 9e9, NAN, NAN, 9e9, NAN, 10e9, 1, 1 });
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_true(!mpi_has_threads(&mpi.ranks[0]) && mpi_waits(&mpi.ranks[0], 0.1));
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
    metrics_fixture_mpi(&metrics, "0/MPI_File_write", 1, NAN, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/MPI_Finalize", 1, NAN, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "0/", 15, NAN, NAN, NAN, NAN, NAN, 10);
    metrics_fixture_mpi(&metrics, "1/MPI_Recv", 1, NAN, NAN, NAN, NAN, NAN, NAN);
    metrics_fixture_mpi(&metrics, "1/", 1, NAN, NAN, NAN, NAN, NAN, NAN);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_string_equal(mpi.functions[0].name, "MPI_Recv");
    assert_true(isnan(mpi_share(&mpi)) && isnan(mpi.own_max_s) && isnan(mpi.all.time_s));
    assert_true(mpi.ranks[0].has_ended && !mpi.ranks[1].has_ended && mpi.unended_count == 1);
    assert_true(isnan(mpi.ranks[0].life_s) && isnan(mpi.life_s) && mpi.ranks[0].file_s == 0);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mpi_statistics),
        cmocka_unit_test(several_ranks_are_late),
        cmocka_unit_test(limits_of_late_ranks),
        cmocka_unit_test(no_rank_is_late),
        cmocka_unit_test(file_io_is_own_work),
        cmocka_unit_test(order_of_pairs),
        cmocka_unit_test(order_of_functions),
        cmocka_unit_test(ranks_that_have_ended),
        cmocka_unit_test(waits_in_finalize),
        cmocka_unit_test(concurrent_threads_have_no_share),
        cmocka_unit_test(worlds_are_separate),
        cmocka_unit_test(unrecorded_ranks_are_counted),
        cmocka_unit_test(invalid_names_are_ignored),
        cmocka_unit_test(counts_without_times),
        cmocka_unit_test(mixed_ranks_have_no_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
