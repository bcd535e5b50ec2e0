/* Memory, storage, sampling: rules on both sides of their thresholds, and silent if a number is missing. */
#include "analysis/expect_advice.h"

#include <math.h>

static void memory_unused(void **state)
{
    (void)state;
    plain_timeline(&facts, TIMELINE_MEMORY, 0, 1, 8.1 * GIB);
    plain_count(&facts, COUNTER_rssmax, 1024);
    facts.job.summary.rss_peak_bytes = (uint64_t)(8.1 * GIB);
    expect_silent("memory-unused");
    plain_timeline(&facts, TIMELINE_MEMORY, 0, 1, 7.9 * GIB);
    facts.job.summary.rss_peak_bytes = (uint64_t)(7.9 * GIB);
    expect_advice("memory-unused", SEVERITY_HINT, "Memory stayed under 7.9 GiB of the 32.0 GiB allocated (25 %).",
                  "Request 12.0 GiB: the");
    facts.job.memory_limit_bytes = facts.job.memory_bytes;
    expect_silent("memory-unused"); /* not requested: it is the node's memory */
    facts.job.memory_limit_bytes = (uint64_t)(32 * GIB);
    plain_duration(&facts, 9.9);
    expect_silent("memory-unused");
    plain_duration(&facts, 10);
    assert_non_null(find("memory-unused"));
    plain_timeline(&facts, TIMELINE_MEMORY, 0, 1, NAN);
    facts.job.summary.rss_peak_bytes = 0;
    expect_silent("memory-unused"); /* the largest process alone is not enough */
}

static void page_faults(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_majflt, 999);
    expect_silent("page-faults");
    plain_count(&facts, COUNTER_majflt, 1000);
    expect_advice("page-faults", SEVERITY_HINT, "1,000 major page faults (read from disk), 10 per second.",
                  "Executables, libraries");
    facts.job.summary.rss_peak_bytes = (uint64_t)(26 * GIB);
    expect_advice("page-faults", SEVERITY_PROBLEM, "1,000 major page faults (read from disk), 10 per second.",
                  "Memory was at 81 %");
    plain_duration(&facts, 101);
    expect_silent("page-faults");
    plain_duration(&facts, 100);
    plain_clear_counter(&facts, COUNTER_majflt);
    expect_silent("page-faults");
}

static void block_io(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_delayacct_blkio_time, 374e6);
    expect_silent("block-io");
    plain_count(&facts, COUNTER_delayacct_blkio_time, 376e6);
    expect_advice("block-io", SEVERITY_HINT,
                  "Processes were blocked by storage for 6 min 16 s, 20 % of the time they ran or were blocked.",
                  "Read larger blocks");
    plain_count(&facts, COUNTER_delayacct_blkio_time, 1501e6);
    assert_int_equal(find("block-io")->severity, SEVERITY_WASTE);
    plain_clear_counter(&facts, COUNTER_delayacct_blkio_time);
    expect_silent("block-io");
    plain_cpu(&facts, 1, 0);
    plain_count(&facts, COUNTER_delayacct_blkio_time, 0.99e6);
    expect_silent("block-io");
}

static void io_phases(void **state)
{
    (void)state;
    plain_timeline(&facts, TIMELINE_STORAGE, 0, 1, 20 * 1048576.0);
    plain_timeline(&facts, TIMELINE_CPU, 0.2, 0.39, 0.1);
    expect_silent("io-phases");
    plain_timeline(&facts, TIMELINE_CPU, 0.2, 0.4, 0.1);
    expect_advice("io-phases", SEVERITY_HINT, "For 20.0 s (20 % of the time) the job transferred data from or to "
                                              "storage (20.0 MiB/s) and hardly computed.", "Overlap I/O");
    plain_timeline(&facts, TIMELINE_STORAGE, 0, 1, 9.9 * 1048576);
    expect_silent("io-phases");
    plain_timeline(&facts, TIMELINE_STORAGE, 0, 1, NAN);
    expect_silent("io-phases");
    plain_timeline(&facts, TIMELINE_STORAGE, 0, 1, 20 * 1048576.0);
    plain_duration(&facts, 9.9);
    expect_silent("io-phases");
}

static void small_io(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_syscw, 100000);
    plain_count(&facts, COUNTER_wchar, 102400000);
    expect_silent("small-io");
    plain_count(&facts, COUNTER_wchar, 1200000);
    expect_advice("small-io", SEVERITY_HINT, "100,000 write calls transferred only 12 B each.", "Use buffering");
    plain_duration(&facts, 101);
    expect_silent("small-io");
    plain_duration(&facts, 100);
    plain_clear_counter(&facts, COUNTER_wchar);
    expect_silent("small-io");
    plain_count(&facts, COUNTER_syscr, 99999);
    plain_count(&facts, COUNTER_rchar, 200000);
    expect_silent("small-io");
    plain_count(&facts, COUNTER_syscr, 100000);
    expect_advice("small-io", SEVERITY_HINT, "100,000 read calls transferred only 2 B each.", "Use buffering");
}

static void storage_rereads(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_read_bytes, 7.9 * GIB);
    expect_silent("storage-rereads");
    plain_count(&facts, COUNTER_read_bytes, 8 * GIB);
    expect_advice("storage-rereads", SEVERITY_HINT, "8.0 GiB were read from storage, but programs read only 4.0 GiB: "
                                                    "files were mapped, or read ahead in vain.", "For random access");
    plain_clear_counter(&facts, COUNTER_rchar);
    expect_silent("storage-rereads");
    plain_count(&facts, COUNTER_rchar, 0);
    plain_count(&facts, COUNTER_read_bytes, 0.9 * GIB);
    expect_silent("storage-rereads");
}

static void too_short(void **state)
{
    (void)state;
    facts.timeline.samples = TIMELINE_SAMPLES_MIN - 1;
    plain_duration(&facts, 5);
    expect_silent("too-short");
    plain_duration(&facts, 4.9);
    facts.timeline.samples = TIMELINE_SAMPLES_MIN; /* the report shows a timeline */
    expect_silent("too-short");
    facts.timeline.samples = TIMELINE_SAMPLES_MIN - 1;
    expect_advice("too-short", SEVERITY_NOTE,
                  "The job took 4.9 s and was sampled every 1.0 s: too few samples for a timeline.",
                  "Use a shorter interval: sonde run -p 90ms.");
    plain_duration(&facts, 0.11);
    expect_advice("too-short", SEVERITY_NOTE,
                  "The job took 110 ms and was sampled every 1.0 s: too few samples for a timeline.",
                  "Use a shorter interval: sonde run -p 10ms.");
    plain_duration(&facts, 0.09);
    expect_silent("too-short");
    plain_duration(&facts, 0.11);
    facts.job.period_ns = 10000000;
    expect_silent("too-short");
    facts.job.period_ns = 0;
    expect_silent("too-short");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(memory_unused), T(page_faults), T(block_io), T(io_phases), T(small_io), T(storage_rereads), T(too_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
