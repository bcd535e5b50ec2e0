/* What a report says it does not know: nothing when all is known, and each hole by its own sentence. */
#include "analysis/missing.h"

#include "analysis/plain.h"
#include "tools/unit.h"

#include <math.h>

static struct facts facts;
static struct unknown_list list;

static int fresh(void **state)
{
    (void)state;
    plain_init(&facts);
    return 0;
}

/* Exactly one thing is not known, and this is said of it. */
static void only(const char *sentence)
{
    unknown_of(&list, &facts);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0], sentence);
    plain_init(&facts);
}

static void nothing_when_all_is_known(void **state)
{
    (void)state;
    unknown_of(&list, &facts);
    assert_int_equal(list.count, 0);
}

static void counters_that_are_missing(void **state)
{
    (void)state;
    plain_forget(&facts, COUNTER_time_waiting);
    only("waiting for a CPU: no process told all of it (sonde doctor shows what this machine tells)");
    plain_count(&facts, COUNTER_time_oncpu, 150e9);
    only("waiting for a CPU: of those who used 90 % of the CPU time nobody told it (killed, or watched from outside only)");
    plain_forget(&facts, COUNTER_delayacct_blkio_time);
    only("waiting for disk: no process told all of it (if the kernel does not count it, as root: "
         "sysctl kernel.task_delayacct=1)");
    plain_forget(&facts, COUNTER_rchar);
    plain_forget(&facts, COUNTER_read_bytes);
    only("input and output: no process told all of it (sonde doctor shows what this machine tells)");
    plain_forget(&facts, COUNTER_usertime);
    plain_forget(&facts, COUNTER_systemtime);
    only("CPU time: no process told of it");
}

static void bytes_of_which_nobody_told(void **state)
{
    struct counters *total = &facts.job.summary.total;
    (void)state;
    counters_set(total, COUNTER_rchar, (uint64_t)(7 * GIB));
    counters_set(total, COUNTER_wchar, (uint64_t)(2.01 * GIB)); /* told but for less than a hundredth */
    only("who read 3.0 GiB and wrote 0 B of the bytes above: who was killed, or watched from outside only, does not tell");
}

static void holes(void **state)
{
    (void)state;
    facts.uncounted = facts.countable = 2;
    only("perf events: no program could be counted (set-uid, killed at once, or what it made was made past libc, as by static "
         "programs)");
    facts.uncounted = 2;
    facts.countable = 1004;
    facts.event_count = 1;
    only("perf events of 2 of 1,004 programs (set-uid, killed at once, or made past libc, as by static programs): the sums may "
         "lack them");
    facts.counted_late = 2;
    only("perf events of the exec and the loader of 2 programs, which came by posix_spawn or past libc");
    facts.job.summary.gaps.records_lost = 2;
    only("what stood in 2 records that could not be written");
    facts.job.summary.gaps.bytes_damaged = 2048;
    only("what stood in 2.0 KiB of the spool that were damaged");
    facts.job.summary.gaps.events_lost = 1;
    only("what 1 message of the kernel said that came too fast");
    facts.job.summary.gaps.ticks_late = 3;
    only("the moments of 3 samples that came late");
    facts.job.ended = false;
    only("the end of the job: Sonde was ended before it");
}

static void system_calls_that_nobody_counted(void **state)
{
    (void)state;
    facts.calls_gap = (struct calls_gap){ .from_ns = PLAIN_START_NS + 6000000000, .lost_ns = 1500000000 };
    only("system calls of 1.5 s, from 6.0 s after the start on: no agent counted them");
    facts.calls_gap = (struct calls_gap){ .from_ns = PLAIN_START_NS + 6000000000, .is_open = true };
    only("system calls from 6.0 s after the start on: no agent counted them");
}

static void bytes_that_calls_do_not_return(void **state)
{
    struct call ring[] = { { .name = "io_uring_enter", .calls = 1000 }, { .name = "read", .calls = 7 } };
    struct call polled[] = { { .name = "io_uring_setup", .calls = 1 } };
    struct call messages[] = { { .name = "recvmmsg", .calls = 1 }, { .name = "sendmmsg", .calls = 2 } };
    (void)state;
    facts.calls = (struct calls){ .list = ring, .count = 2 };
    only("bytes that went through io_uring, which was entered 1,000 times: of them only those from and to disk are counted");
    facts.calls = (struct calls){ .list = polled, .count = 1 };
    only("bytes that went through io_uring, which was entered 0 times: of them only those from and to disk are counted");
    facts.calls = (struct calls){ .list = messages, .count = 2 };
    only("bytes of sendmmsg and recvmmsg, called 3 times: they return how many messages they moved");
}

static void system_calls_of_programs_without_the_probe(void **state)
{
    (void)state;
    facts.calls_gap.in_libc = true;
    unknown_of(&list, &facts);
    assert_int_equal(list.count, 0);
    facts.job.summary.unprobed = 2;
    unknown_of(&list, &facts);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[1], "system calls of 2 of 3 programs: only those watched from inside count theirs, in libc (as"
                        " root without --libc, or with --ptrace, all are counted)");
    facts.job.summary.unprobed = facts.job.summary.images = 1;
    unknown_of(&list, &facts);
    assert_non_null(strstr(list.items[1], "system calls of 1 of 1 program: "));
}

static void processes(void **state)
{
    (void)state;
    facts.job.summary.unprobed = 1;
    only("1 of 3 programs was watched from outside only (static, set-uid, without our environment, or killed)");
    facts.job.summary.unprobed = 3;
    only("no program was watched from inside: all numbers are the kernel's");
    facts.job.summary.lost = 1;
    only("the end of 1 process: the numbers are what was seen last");
    facts.job.summary.running = 2;
    only("the end of 2 processes that still ran: the numbers are those until then");
}

static void samples_and_limits(void **state)
{
    (void)state;
    facts.shape.samples = SHAPE_SAMPLES_MIN - 1;
    only("use over time: there are no samples");
    facts.shape.samples = 2;
    plain_last(&facts, 1.5);
    only("use over time: the job was shorter than 4 samples of 1.0 s");
    facts.job.cores_allowed_milli = facts.job.cores = 0;
    only("how many cores were allowed");
    facts.job.memory_limit_bytes = facts.job.memory_bytes = 0;
    only("how much memory was allowed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_when_all_is_known, fresh),
        cmocka_unit_test_setup(counters_that_are_missing, fresh),
        cmocka_unit_test_setup(bytes_of_which_nobody_told, fresh),
        cmocka_unit_test_setup(holes, fresh),
        cmocka_unit_test_setup(system_calls_that_nobody_counted, fresh),
        cmocka_unit_test_setup(bytes_that_calls_do_not_return, fresh),
        cmocka_unit_test_setup(system_calls_of_programs_without_the_probe, fresh),
        cmocka_unit_test_setup(processes, fresh),
        cmocka_unit_test_setup(samples_and_limits, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
