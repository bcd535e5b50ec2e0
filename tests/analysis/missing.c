/* What a report lists as missing: nothing if all data is there, and one sentence for each gap. */
#include "analysis/missing.h"

#include "analysis/plain.h"
#include "tools/unit.h"

#include <math.h>

static struct facts facts;
static struct missing_list list;

static int fresh(void **state)
{
    (void)state;
    plain_init(&facts);
    return 0;
}

/* Exactly one thing is missing, with this sentence. */
static void only(const char *sentence)
{
    missing_find(&list, &facts);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0], sentence);
    plain_init(&facts);
}

static void nothing_missing(void **state)
{
    (void)state;
    missing_find(&list, &facts);
    assert_int_equal(list.count, 0);
}

static void missing_counters(void **state)
{
    (void)state;
    plain_clear_counter(&facts, COUNTER_time_waiting);
    only("CPU wait: unavailable ('sonde doctor' shows what this node supports)");
    plain_count(&facts, COUNTER_time_oncpu, 150e9);
    only("CPU wait: unavailable for the processes that used 90 % of CPU time (killed, or without the probe)");
    plain_clear_counter(&facts, COUNTER_delayacct_blkio_time);
    only("disk wait: unavailable (if delay accounting is off, as root: sysctl kernel.task_delayacct=1)");
    plain_clear_counter(&facts, COUNTER_rchar);
    plain_clear_counter(&facts, COUNTER_read_bytes);
    only("I/O: unavailable ('sonde doctor' shows what this node supports)");
    plain_clear_counter(&facts, COUNTER_usertime);
    plain_clear_counter(&facts, COUNTER_systemtime);
    only("CPU time: unavailable");
}

static void unattributed_bytes(void **state)
{
    struct counters *total = &facts.job.summary.total;
    (void)state;
    counters_set(total, COUNTER_rchar, (uint64_t)(7 * GIB));
    counters_set(total, COUNTER_wchar, (uint64_t)(2.01 * GIB)); /* all but less than a hundredth is attributed */
    only("3.0 GiB read could not be attributed to a process");
}

static void gaps(void **state)
{
    (void)state;
    facts.uncounted = facts.countable = 2;
    only("perf events: no program could be counted (set-uid, killed early, or started by a static program)");
    facts.uncounted = 2;
    facts.countable = 1004;
    facts.event_count = 1;
    only("perf events of 2 of 1,004 program executions (set-uid, killed early, or started by a static program): the "
         "totals may be too low");
    facts.counted_late = 2;
    only("perf events of the exec and loader of 2 programs, started by posix_spawn or by a static program");
    facts.job.summary.gaps.records_lost = 2;
    only("2 records that could not be written");
    facts.job.summary.gaps.bytes_damaged = 2048;
    only("2.0 KiB of the spool that were damaged");
    facts.job.summary.gaps.events_lost = 1;
    only("1 kernel event that arrived too fast");
    facts.job.summary.gaps.ticks_late = 3;
    only("the exact time of 3 samples, taken late");
    facts.job.ended = false;
    only("the end of the job: Sonde was terminated before it");
}

static void uncounted_syscalls(void **state)
{
    (void)state;
    facts.syscall_stats_gap = (struct syscall_stats_gap){ .from_ns = PLAIN_START_NS + 6000000000,
                                                         .lost_ns = 1500000000 };
    only("system calls during 1.5 s, from 6.0 s after the start: no agent counted them");
    facts.syscall_stats_gap = (struct syscall_stats_gap){ .from_ns = PLAIN_START_NS + 6000000000, .is_open = true };
    only("system calls from 6.0 s after the start: no agent counted them");
}

static void bytes_not_returned_by_calls(void **state)
{
    struct syscall_stat ring[] = { { .name = "io_uring_enter", .calls = 1000 }, { .name = "read", .calls = 7 } };
    struct syscall_stat polled[] = { { .name = "io_uring_setup", .calls = 1 } };
    struct syscall_stat messages[] = { { .name = "recvmmsg", .calls = 1 }, { .name = "sendmmsg", .calls = 2 } };
    (void)state;
    facts.calls = (struct syscall_stats){ .list = ring, .count = 2 };
    only("bytes transferred by io_uring (1,000 times entered): only those from and to disk are counted");
    facts.calls = (struct syscall_stats){ .list = polled, .count = 1 };
    only("bytes transferred by io_uring (0 times entered): only those from and to disk are counted");
    facts.calls = (struct syscall_stats){ .list = messages, .count = 2 };
    only("bytes of sendmmsg and recvmmsg (called 3 times): they return the number of messages, not bytes");
}

static void syscalls_without_probe(void **state)
{
    (void)state;
    facts.syscall_stats_gap.in_libc = true;
    missing_find(&list, &facts);
    assert_int_equal(list.count, 0);
    facts.job.summary.unprobed = 2;
    missing_find(&list, &facts);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[1], "system calls of 2 of 3 programs without the probe, since they were counted in libc "
                                       "(all are counted as root without --libc, or with --ptrace)");
    facts.job.summary.unprobed = facts.job.summary.images = 1;
    missing_find(&list, &facts);
    assert_non_null(strstr(list.items[1], "system calls of 1 of 1 program without"));
}

static void processes(void **state)
{
    (void)state;
    facts.job.summary.unprobed = 1;
    only("1 of 3 program executions ran without the probe, with kernel data only (static, set-uid, cleared "
         "environment, or killed)");
    facts.job.summary.unprobed = 3;
    only("the probe was not loaded into any program: kernel data only");
    facts.job.summary.lost = 1;
    only("exit of 1 process: the values are the last known ones");
    facts.job.summary.running = 2;
    only("exit of 2 processes, still running: the values are the last known ones");
}

static void samples_and_limits(void **state)
{
    (void)state;
    facts.timeline.samples = TIMELINE_SAMPLES_MIN - 1;
    only("timeline: no samples");
    facts.timeline.samples = 2;
    plain_duration(&facts, 1.5);
    only("timeline: fewer than 4 samples (interval 1.0 s)");
    facts.job.cores_allowed_milli = facts.job.cores = 0;
    only("number of allocated cores: unknown");
    facts.job.memory_limit_bytes = facts.job.memory_bytes = 0;
    only("memory limit: unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_missing, fresh),
        cmocka_unit_test_setup(missing_counters, fresh),
        cmocka_unit_test_setup(unattributed_bytes, fresh),
        cmocka_unit_test_setup(gaps, fresh),
        cmocka_unit_test_setup(uncounted_syscalls, fresh),
        cmocka_unit_test_setup(bytes_not_returned_by_calls, fresh),
        cmocka_unit_test_setup(syscalls_without_probe, fresh),
        cmocka_unit_test_setup(processes, fresh),
        cmocka_unit_test_setup(samples_and_limits, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
