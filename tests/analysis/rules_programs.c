/* MPI and system calls: rules on both sides of their thresholds, and silent if a number is missing. */
#include "analysis/expect_advice.h"

#include <math.h>

static struct mpi_rank ranks[4];
static struct mpi_function functions[2];
static struct syscall_stat calls[2];

static int fresh_metrics(void **state)
{
    fresh(state);
    for (uint32_t i = 0; i < 4; i++)
        ranks[i] = (struct mpi_rank){ .name = { .rank = i, .program = 1 }, .life_s = 100 };
    functions[0] = (struct mpi_function){ "MPI_Allreduce", { 1000, 60, NAN, NAN, 10, NAN } };
    functions[1] = (struct mpi_function){ "MPI_Send", { 200000, 20, 1e6, NAN, 0, 0 } };
    facts.mpi = (struct mpi){ .ranks = ranks, .rank_count = 4, .functions = functions, .function_count = 2,
                             .life_s = 400,
                              .all = { 201000, 80, 1e6, NAN, 10, NAN }, .own_mean_s = 80, .own_max_s = 80,
                              .longest = 2, .others_wait_share = 0.02, .messages = NAN, .message_bytes = NAN };
    calls[0] = (struct syscall_stat){ "read/pipe", 4, 10, 0, 1e6, NAN };
    calls[1] = (struct syscall_stat){ "openat", 6, 100, 10, NAN, NAN };
    facts.calls = (struct syscall_stats){ .list = &calls[1], .count = 1, .classes = &calls[0], .class_count = 1 };
    return 0;
}

#define TOLD(name) cmocka_unit_test_setup(name, fresh_metrics)

static void mpi_imbalance(void **state)
{
    (void)state;
    facts.mpi.others_wait_share = 0.15;
    facts.mpi.own_max_s = 99;
    expect_silent("mpi-imbalance");
    facts.mpi.own_max_s = 100;
    expect_advice("mpi-imbalance", SEVERITY_HINT, "Ranks wait for rank 2 for 15 % of their time: it works 1 min 40 s "
                                                  "outside of MPI, ranks work 1 min 20 s on average.",
                  "Balance the work between ranks");
    facts.mpi.late_count = 2;
    ranks[2].file_s = 1;
    expect_advice("mpi-imbalance", SEVERITY_HINT, "Ranks wait for 2 others for 15 % of their time: these work up to 1 "
                                                  "min 40 s outside of MPI and on files (rank 2), ranks work 1 min 20 "
                                                  "s on average.",
                  "Balance the work between ranks: the waiting ranks could take");
    ranks[1].is_late = ranks[2].is_late = ranks[3].is_late = true;
    facts.mpi.late_count = 3;
    expect_advice("mpi-imbalance", SEVERITY_HINT, "Rank 0 waits for 3 others for 15 % of its time: these work up to 1 "
                                                  "min 40 s outside of MPI and on files (rank 2), ranks work 1 min 20 "
                                                  "s on average.",
                  "Balance the work between ranks: the waiting rank could take");
    ranks[3].name.world = 1;
    ranks[1].is_late = ranks[3].is_late = false;
    facts.mpi.late_count = 1;
    expect_advice("mpi-imbalance", SEVERITY_HINT, "Ranks wait for rank 2 for 15 % of their time: it works 1 min 40 s "
                                                  "outside of MPI and on files, ranks of its world work 1 min 20 s on "
                                                  "average.", "Balance the work between ranks");
    ranks[1].name.world = 1;
    expect_advice("mpi-imbalance", SEVERITY_HINT, "Rank 0 waits for rank 2 for 15 % of its time: it works 1 min 40 s "
                                                  "outside of MPI and on files, ranks of its world work 1 min 20 s on "
                                                  "average.", "Balance the work between ranks");
    facts.mpi.others_wait_share = 0.149;
    expect_silent("mpi-imbalance");
    facts.mpi.others_wait_share = 0.4;
    assert_int_equal(find("mpi-imbalance")->severity, SEVERITY_WASTE);
    facts.mpi.life_s = 0.99;
    expect_silent("mpi-imbalance");
    facts.mpi.life_s = 1;
    assert_non_null(find("mpi-imbalance"));
    facts.mpi.rank_count = 1;
    expect_silent("mpi-imbalance");
    facts.mpi.rank_count = 4;
    facts.mpi.own_max_s = NAN;
    expect_silent("mpi-imbalance");
    facts.mpi.own_max_s = 100;
    facts.mpi.others_wait_share = NAN;
    expect_silent("mpi-imbalance");
}

static void mpi_time(void **state)
{
    (void)state;
    facts.mpi.all.time_s = 119;
    expect_silent("mpi-time");
    facts.mpi.all.time_s = 120;
    expect_advice("mpi-time", SEVERITY_HINT,
                  "30 % of the time of 4 ranks is spent in MPI, most of it in MPI_Allreduce (50 %, 1,000 calls).",
                  "Use fewer ranks");
    static const char *const startup[] = { "MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Finalize",
                                           "MPI_Session_finalize" };
    for (size_t i = 0; i < 5; i++) {
        functions[1].name = startup[i]; /* 20 s of the 120 */
        expect_silent("mpi-time");
    }
    facts.mpi.all.time_s = 140;
    assert_non_null(find("mpi-time"));
    functions[1].sum.time_s = 70; /* the most time, but no communication */
    facts.mpi.all.time_s = 200;
    expect_advice("mpi-time", SEVERITY_HINT, "Half (50 %) of the time of 4 ranks is spent in MPI, most of it in "
                                             "MPI_Allreduce (30 %, 1,000 calls).", "Use fewer ranks");
    functions[1].sum.time_s = 20;
    functions[1].name = "MPI_Send";
    facts.mpi.all.time_s = 240;
    assert_int_equal(find("mpi-time")->severity, SEVERITY_WASTE);
    facts.mpi.others_wait_share = 0.5;
    facts.mpi.own_max_s = 200;
    expect_silent("mpi-time"); /* mpi-imbalance applies */
    facts.mpi.others_wait_share = 0;
    facts.mpi.life_s = 0.9;
    expect_silent("mpi-time");
    facts.mpi.life_s = NAN;
    expect_silent("mpi-time");
}

/* Ranks that communicate little need other advice than to communicate less. */
static void mpi_time_of_what(void **state)
{
    (void)state;
    facts.mpi.rank_total = 4;
    facts.mpi.all.time_s = 120;
    functions[0].sum.wait_s = 59;
    expect_advice("mpi-time", SEVERITY_HINT,
                  "30 % of the time of 4 ranks is spent in MPI, most of it in MPI_Allreduce (50 %, 1,000 calls).",
                  "Use fewer ranks");
    functions[0].sum.wait_s = 60;
    expect_advice("mpi-time", SEVERITY_HINT, "30 % of the time of 4 ranks is spent in MPI, most of it in MPI_Allreduce "
                                             "(50 %, 1,000 calls); 50 % of it is waiting for other ranks.",
                  "Balance the work between synchronization points");
    facts.mpi.rank_total = 1; /* there are no other ranks to wait for */
    assert_non_null(strstr(find("mpi-time")->fix, "Use fewer ranks"));
    facts.mpi.rank_total = 4;
    functions[0].name = "MPI_File_write_all";
    expect_advice("mpi-time", SEVERITY_HINT, "30 % of the time of 4 ranks is spent in MPI, most of it in "
                                             "MPI_File_write_all (50 %, 1,000 calls); 50 % of it is file I/O.",
                  "Read and write larger blocks");
    functions[0].name = "MPI_Testany"; /* polling has no waits of its own */
    functions[0].sum.wait_s = NAN;
    expect_advice("mpi-time", SEVERITY_HINT, "30 % of the time of 4 ranks is spent in MPI, most of it in MPI_Testany "
                                             "(50 %, 1,000 calls); 50 % of it is polling.",
                  "Ranks that poll in a loop wait for others");
}

/* Waiting for other ranks at the end counts, a long shutdown does not. */
static void mpi_time_at_the_end(void **state)
{
    (void)state;
    facts.mpi.rank_total = 4;
    facts.mpi.all.time_s = 200;
    functions[1] = (struct mpi_function){ "MPI_Finalize", { 4, 140, NAN, NAN, 59, NAN } };
    expect_silent("mpi-time");
    functions[1].sum.wait_s = 61;
    expect_advice("mpi-time", SEVERITY_HINT, "Half (50 %) of the time of 4 ranks is spent in MPI, most of it in "
                                             "MPI_Finalize (70 %, 4 calls); 36 % of it is waiting for other ranks.",
                  "Balance the work between synchronization points");
}

static void mpi_small_messages(void **state)
{
    (void)state;
    functions[1].sum.small = facts.mpi.all.small = 99999;
    expect_silent("mpi-small-messages");
    functions[1].sum.small = facts.mpi.all.small = 100000;
    expect_advice("mpi-small-messages", SEVERITY_HINT,
                  "100,000 MPI messages were smaller than 1 KiB, 50 % of all; MPI_Send sent most of them.",
                  "Combine them");
    functions[1].sum.calls = 200001;
    expect_silent("mpi-small-messages");
    functions[1].sum.calls = 200000;
    facts.mpi.messages = 125000; /* some calls sent to MPI_PROC_NULL */
    expect_advice("mpi-small-messages", SEVERITY_HINT,
                  "100,000 MPI messages were smaller than 1 KiB, 80 % of all; MPI_Send sent most of them.",
                  "Combine them");
    facts.mpi.messages = 200001; /* MPI_Isend sent only large ones */
    expect_silent("mpi-small-messages");
    facts.mpi.messages = NAN;
    facts.mpi.all.time_s = 39;
    expect_silent("mpi-small-messages");
    facts.mpi.all.time_s = NAN; /* only counts are known */
    assert_non_null(find("mpi-small-messages"));
    facts.mpi.all.small = NAN;
    expect_silent("mpi-small-messages");
}

static void small_calls(void **state)
{
    (void)state;
    calls[0].calls = 99999;
    expect_silent("small-calls");
    calls[0].calls = 100000;
    expect_advice("small-calls", SEVERITY_HINT, "100,000 read calls transferred only 10 B each, through pipes.",
                  "Use buffering");
    calls[0].bytes = 1024e5;
    expect_silent("small-calls");
    calls[0].bytes = 1e6;
    plain_duration(&facts, 101);
    expect_silent("small-calls");
    plain_duration(&facts, 100);
    plain_count(&facts, COUNTER_syscr, 1e6);
    plain_count(&facts, COUNTER_rchar, 1e6);
    assert_non_null(find("small-calls"));
    expect_silent("small-io"); /* the more specific rule applies */
    calls[0].bytes = NAN;
    expect_silent("small-calls");
    assert_non_null(find("small-io"));
}

/* If the times of calls are known, the advice is not to measure them. */
static void calls_with_time(void **state)
{
    static struct syscall_stat timed[] = { { "futex", 5, 10, 0, NAN, 90 }, { "fsync", 5, 10, 0, NAN, 61 }, { "read", 4,
                                                                                                            10, 0, 1e6,
                                                                                                                7 } };
    (void)state;
    plain_cpu(&facts, 900, 600);
    expect_advice("system-time", SEVERITY_HINT, "40 % of the CPU time, 10 min 00 s, was spent in the kernel.",
                  "'sonde run --syscall-time");
    facts.calls = (struct syscall_stats){ .list = timed, .count = 3 };
    expect_advice("system-time", SEVERITY_HINT, "40 % of the CPU time, 10 min 00 s, was spent in the kernel.",
                  "The system call fsync took the most time,");
    plain_count(&facts, COUNTER_time_waiting, 0);
    plain_cpu(&facts, 40, 1);
    expect_advice("mostly-waiting", SEVERITY_HINT,
                  "The job used 41.0 s of CPU time in 1 min 40 s (41 % of a core): it waited most of the time.",
                  "Most time was in the system call futex, 1 min 30 s in total");
}

static void call_errors(void **state)
{
    (void)state;
    calls[1].calls = 20000;
    calls[1].errors = 9999;
    expect_silent("call-errors");
    calls[1].errors = 10000;
    expect_advice("call-errors", SEVERITY_HINT, "10,000 of 20,000 openat calls failed.", "Find out why with");
    calls[1].calls = 20001;
    expect_silent("call-errors");
    calls[1].calls = 20000;
    plain_duration(&facts, 101);
    expect_silent("call-errors");
    plain_duration(&facts, 10);
    calls[1].calls = calls[1].errors = 9999; /* too few in total, although all of them and 1,000 per second */
    expect_silent("call-errors");
    calls[1].calls = calls[1].errors = 10000;
    assert_non_null(find("call-errors"));
    plain_duration(&facts, 100);
    calls[1].name = "futex";
    calls[1].name_size = 5;
    expect_silent("call-errors"); /* it waits */
    calls[1].name = "openat";
    calls[1].name_size = 6;
    calls[1].errors = NAN;
    expect_silent("call-errors");
}

static void metadata_calls(void **state)
{
    (void)state;
    calls[1].calls = 99999;
    expect_silent("metadata-calls");
    calls[1].calls = 100000;
    expect_advice("metadata-calls", SEVERITY_HINT,
                  "100,000 file metadata operations (open, stat, rename etc.), 1,000 per second, most often openat.",
                  "On a shared file system");
    plain_duration(&facts, 101);
    expect_silent("metadata-calls");
    plain_duration(&facts, 100);
    calls[1].name = "openx";
    calls[1].name_size = 5;
    expect_silent("metadata-calls");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOLD(mpi_imbalance), TOLD(mpi_time), TOLD(mpi_time_of_what), TOLD(mpi_time_at_the_end),
        TOLD(mpi_small_messages), TOLD(small_calls), TOLD(calls_with_time),
        TOLD(call_errors), TOLD(metadata_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
