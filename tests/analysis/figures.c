/* Numbers derived from the facts of a job, in particular what is reported when only a part is known. */
#include "analysis/facts.h"

#include "analysis/plain.h"
#include "tools/unit.h"

#include <math.h>

static struct facts facts;

static int set_up(void **state)
{
    (void)state;
    plain_init(&facts);
    return 0;
}

#define assert_about(got, want) assert_true(fabs((got) - (want)) < 1e-6)
#define assert_nan(got) assert_true(isnan(got))

static void unknown(enum counter counter)
{
    plain_clear_counter(&facts, counter);
}

static void set_total(enum counter counter, double value)
{
    counters_set(&facts.job.summary.total, counter, (uint64_t)value);
}

static void duration(void **state)
{
    (void)state;
    assert_about(facts_duration_s(&facts), 100);
    facts.job.end_ns = facts.job.start_ns;
    assert_nan(facts_duration_s(&facts));
    facts.job.end_ns = facts.job.start_ns + 1000000000;
    assert_about(facts_duration_s(&facts), 1);
    facts.job.start_ns = 0;
    assert_nan(facts_duration_s(&facts));
}

/* The larger of the kernel's total and the sum over processes; either may be unknown. */
static void cpu_time(void **state)
{
    (void)state;
    assert_about(facts_cpu_s(&facts), 1500);
    set_total(COUNTER_usertime, 1550e6);
    assert_about(facts_cpu_s(&facts), 1600);
    plain_count(&facts, COUNTER_usertime, 1650e6);
    assert_about(facts_cpu_s(&facts), 1700);
    facts.job.summary.total.known = 0;
    facts.job.summary.total.value[COUNTER_usertime] = facts.job.summary.total.value[COUNTER_systemtime] = 0;
    assert_about(facts_cpu_s(&facts), 1700);
    facts.job.summary.sum.known = 0;
    assert_nan(facts_cpu_s(&facts));
    facts.job.summary.total.value[COUNTER_systemtime] = 0;
    set_total(COUNTER_systemtime, 3e6);
    facts.job.summary.sum = (struct counters){ 0 };
    assert_about(facts_cpu_s(&facts), 3);
    facts.job.summary.total = (struct counters){ 0 };
    set_total(COUNTER_usertime, 2e6);
    assert_about(facts_cpu_s(&facts), 2);
}

/* Only when it is known for half of the CPU time. */
static void share_of_the_kernel(void **state)
{
    (void)state;
    assert_about(facts_kernel_share(&facts), 50.0 / 1500);
    set_total(COUNTER_usertime, 2950e6);
    assert_about(facts_kernel_share(&facts), 50.0 / 1500);
    set_total(COUNTER_usertime, 2951e6);
    assert_nan(facts_kernel_share(&facts));
    plain_init(&facts);
    plain_cpu(&facts, 0, 0);
    assert_nan(facts_kernel_share(&facts));
    plain_init(&facts);
    unknown(COUNTER_systemtime);
    assert_nan(facts_kernel_share(&facts));
    plain_init(&facts);
    unknown(COUNTER_usertime);
    assert_nan(facts_kernel_share(&facts));
}

static void cores(void **state)
{
    (void)state;
    assert_about(facts_cores_allocated(&facts), 16);
    assert_about(facts_cores_used(&facts), 15);
    assert_about(facts_cores_wanted(&facts), 15.2);
    facts.job.cores_allowed_milli = 0;
    assert_about(facts_cores_allocated(&facts), 32);
    facts.job.cores = 0;
    assert_nan(facts_cores_allocated(&facts));
}

static void cores_of_other_processes(void **state)
{
    (void)state;
    plain_timeline(&facts, TIMELINE_NODE, 0, 1, 20);
    assert_about(facts_cores_of_other_processes(&facts), 5);
    plain_timeline(&facts, TIMELINE_NODE, 0, 1, 14);
    assert_about(facts_cores_of_other_processes(&facts), 0);
    facts.timeline.samples = TIMELINE_SAMPLES_MIN;
    assert_about(facts_cores_of_other_processes(&facts), 0);
    facts.timeline.samples = TIMELINE_SAMPLES_MIN - 1;
    assert_nan(facts_cores_of_other_processes(&facts));
}

static void memory(void **state)
{
    (void)state;
    assert_about(facts_memory_limit(&facts) / GIB, 32);
    facts.job.memory_limit_bytes = 0;
    assert_about(facts_memory_limit(&facts) / GIB, 64);
    facts.job.memory_bytes = 0;
    assert_nan(facts_memory_limit(&facts));

    assert_about(facts_memory_peak(&facts) / GIB, 16); /* sampled: all processes together */
    plain_count(&facts, COUNTER_rssmax, 20 * GIB / 1024);
    assert_about(facts_memory_peak(&facts) / GIB, 20); /* one process had more than any sample */
    set_total(COUNTER_rssmax, 24 * GIB / 1024);
    assert_about(facts_memory_peak(&facts) / GIB, 24);
    facts.job.summary.rss_peak_bytes = 0;
    plain_timeline(&facts, TIMELINE_MEMORY, 0, 1, 30 * GIB);
    assert_about(facts_memory_peak(&facts) / GIB, 30);
}

static void memory_names_its_source(void **state)
{
    (void)state;
    facts.sampled_memory = FACTS_MEMORY_PSS;
    assert_int_equal(facts_memory_source(&facts), FACTS_MEMORY_PSS);
    plain_count(&facts, COUNTER_rssmax, 17 * GIB / 1024); /* the samples missed the peak of one process */
    assert_int_equal(facts_memory_source(&facts), FACTS_MEMORY_PROCESS);
    assert_about(facts_memory_peak(&facts) / GIB, 17);
}

/* More than the node has: resident sizes were added. */
static void memory_is_never_more_than_there_is(void **state)
{
    (void)state;
    facts.sampled_memory = FACTS_MEMORY_RSS;
    facts.job.memory_limit_bytes = 0;
    facts.job.summary.rss_peak_bytes = 64ull << 30;
    assert_about(facts_memory_peak(&facts) / GIB, 64);
    assert_int_equal(facts_memory_source(&facts), FACTS_MEMORY_RSS);
    facts.job.summary.rss_peak_bytes = (64ull << 30) + 1;
    plain_count(&facts, COUNTER_rssmax, 2 * GIB / 1024);
    assert_about(facts_memory_peak(&facts) / GIB, 2);
    assert_int_equal(facts_memory_source(&facts), FACTS_MEMORY_PROCESS);
    plain_clear_counter(&facts, COUNTER_rssmax);
    assert_nan(facts_memory_peak(&facts));
    assert_int_equal(facts_memory_source(&facts), FACTS_MEMORY_UNKNOWN);
}

/* The total includes killed processes, the sum does not. */
static void io(void **state)
{
    (void)state;
    double bytes;
    assert_true(facts_io_bytes(&facts, COUNTER_rchar, &bytes));
    assert_about(bytes / GIB, 4);
    assert_true(facts_io_is_attributed(&facts, COUNTER_rchar));
    plain_count(&facts, COUNTER_rchar, 990);
    set_total(COUNTER_rchar, 1000);
    assert_true(facts_io_bytes(&facts, COUNTER_rchar, &bytes));
    assert_about(bytes, 1000);
    assert_true(facts_io_is_attributed(&facts, COUNTER_rchar));
    plain_count(&facts, COUNTER_rchar, 989);
    assert_false(facts_io_is_attributed(&facts, COUNTER_rchar));
    facts.job.summary.sum.known &= ~(1ull << COUNTER_rchar);
    assert_true(facts_io_bytes(&facts, COUNTER_rchar, &bytes));
    assert_false(facts_io_is_attributed(&facts, COUNTER_rchar));
    unknown(COUNTER_rchar);
    assert_false(facts_io_bytes(&facts, COUNTER_rchar, &bytes));
    assert_false(facts_io_is_attributed(&facts, COUNTER_rchar));
}

static void waiting_for_a_cpu(void **state)
{
    (void)state;
    assert_about(facts_waiting_known_share(&facts), 1);
    assert_about(facts_waiting_s(&facts), 20);
    assert_about(facts_run_queue_share(&facts), 20.0 / 1520);
    plain_count(&facts, COUNTER_time_oncpu, 750e9); /* half of the CPU time: just enough */
    assert_about(facts_waiting_known_share(&facts), 0.5);
    assert_about(facts_waiting_s(&facts), 20);
    plain_count(&facts, COUNTER_time_oncpu, 749e9);
    assert_nan(facts_waiting_s(&facts));
    assert_nan(facts_run_queue_share(&facts));
    plain_count(&facts, COUNTER_time_oncpu, 3000e9);
    assert_about(facts_waiting_known_share(&facts), 1);
    unknown(COUNTER_time_oncpu);
    assert_about(facts_waiting_known_share(&facts), 1);
    assert_nan(facts_run_queue_share(&facts));
    plain_count(&facts, COUNTER_time_oncpu, 0);
    plain_cpu(&facts, 0, 0);
    assert_about(facts_waiting_known_share(&facts), 1);
    assert_about(facts_run_queue_share(&facts), 1);
    plain_count(&facts, COUNTER_time_waiting, 0);
    assert_nan(facts_run_queue_share(&facts));
    unknown(COUNTER_time_waiting);
    assert_about(facts_waiting_known_share(&facts), 0);
    assert_nan(facts_waiting_s(&facts));
}

static void runs_and_their_status(void **state)
{
    (void)state;
    struct bytes command = { "a", 2 };
    struct store_run runs[] = {
        { .command = command, .status_known = true },
        { .command = command, .status_known = true, .exit_code = 1 },
        { .command = command, .status_known = true, .exit_signal = 9 },
        { .command = command, .exit_code = 1 },         /* status unknown */
        { .status_known = true, .exit_code = 1 },       /* of an agent */
    };
    assert_true(facts_succeeded(&facts));
    facts.runs.list = runs;
    facts.runs.count = 5;
    assert_int_equal(facts_run_count(&facts), 4);
    assert_int_equal(facts_runs_failed(&facts), 2);
    assert_false(facts_succeeded(&facts));
    facts.runs.count = 1;
    assert_true(facts_succeeded(&facts));
    facts.job.exit_signal = 9;
    assert_false(facts_succeeded(&facts));
    facts.job.exit_signal = 0;
    facts.job.exit_code = 1;
    assert_false(facts_succeeded(&facts));
    facts.job.exit_code = 0;
    facts.job.status_known = false;
    assert_false(facts_succeeded(&facts));
}

static void only_agents_reported(void **state)
{
    (void)state;
    assert_false(facts_only_from_agents(&facts));
    facts.job.command.size = 0;
    assert_false(facts_only_from_agents(&facts));
    facts.job.summary.images = 0;
    assert_true(facts_only_from_agents(&facts));
    facts.job.command.size = 3;
    assert_false(facts_only_from_agents(&facts));
    facts.job.command.size = 0;
    facts.job.hosts = "";
    assert_false(facts_only_from_agents(&facts));
}

/* Processes of another executable with the same name, or of the same file under another name, do not count. */
static void sources_of_an_executable(void **state)
{
    (void)state;
    struct summary_executable executable = { .path = bytes_of("/bin/a"), .name = bytes_of("a") };
    facts.process_count = 3;
    facts.processes[0] = (struct process){ .path = bytes_of("/bin/a"), .name = bytes_of("a"), .sources = SEEN_PROBE };
    facts.processes[1] = (struct process){ .path = bytes_of("/opt/a"), .name = bytes_of("a"), .sources = SEEN_WAIT };
    facts.processes[2] = (struct process){ .path = bytes_of("/bin/a"), .name = bytes_of("b"), .sources = SEEN_CHILD };
    assert_int_equal(facts_executable_sources(&facts, &executable), SEEN_PROBE);
    assert_false(facts_executable_has_io(&executable));
    executable.rchar = 1;
    assert_true(facts_executable_has_io(&executable));
}

#define T(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(duration),
        T(cpu_time),
        T(share_of_the_kernel),
        T(cores),
        T(cores_of_other_processes),
        T(memory),
        T(memory_names_its_source),
        T(memory_is_never_more_than_there_is),
        T(io),
        T(waiting_for_a_cpu),
        T(runs_and_their_status),
        T(only_agents_reported),
        T(sources_of_an_executable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
