/* Cores, threads and time: rules on both sides of their thresholds, and silent if a number is missing. */
#include "analysis/expect_advice.h"

static void mostly_waiting(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_time_waiting, 0);
    plain_cpu(&facts, 50, 0);
    expect_silent("mostly-waiting");
    plain_cpu(&facts, 40, 1);
    expect_advice("mostly-waiting", SEVERITY_HINT,
                  "The job used 41.0 s of CPU time in 1 min 40 s (41 % of a core): it waited most of the time.",
                  "Find out what it");
    expect_silent("cores-unused");
    plain_count(&facts, COUNTER_time_waiting, 9e9);
    expect_silent("mostly-waiting"); /* there was work, but no CPU */
    plain_count(&facts, COUNTER_time_waiting, 8.9e9);
    assert_non_null(find("mostly-waiting"));
    plain_cpu(&facts, 5, 0);
    plain_count(&facts, COUNTER_delayacct_blkio_time, 60e6);
    expect_advice("mostly-waiting", SEVERITY_WASTE,
                  "The job used 5.0 s of CPU time in 1 min 40 s (5 % of a core): it waited most of the time.",
                  "It waited for storage");
    plain_duration(&facts, 0.9);
    plain_cpu(&facts, 0.05, 0);
    expect_silent("mostly-waiting");
    plain_init(&facts);
    plain_clear_counter(&facts, COUNTER_usertime);
    plain_clear_counter(&facts, COUNTER_systemtime);
    expect_silent("mostly-waiting");
}

static void cores_unused(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_time_waiting, 0);
    plain_cpu(&facts, 970, 0);
    expect_silent("cores-unused");
    plain_cpu(&facts, 950, 0);
    expect_advice("cores-unused", SEVERITY_HINT, "9.5 of 16 cores were used on average (59 %).",
                  "Request fewer cores, or run more");
    plain_count(&facts, COUNTER_time_waiting, 11e9);
    expect_silent("cores-unused"); /* there was enough work, but no CPU */
    plain_count(&facts, COUNTER_time_waiting, 9e9);
    assert_non_null(find("cores-unused"));
    plain_cpu(&facts, 310, 0);
    plain_timeline(&facts, TIMELINE_CPU, 0, 1, 4.2);
    expect_advice("cores-unused", SEVERITY_WASTE, "3.1 of 16 cores were used on average (19 %).",
                  "No more than 4.2 were busy at any time: request 5 cores, or run more in parallel");
    plain_cpu(&facts, 100, 0);
    plain_timeline(&facts, TIMELINE_CPU, 0, 1, 1.02);
    expect_advice("cores-unused", SEVERITY_WASTE, "1 of 16 cores was used on average (6 %).",
                  "No more than 1 was busy at any time: request 1 core, or run more in parallel");
    plain_cpu(&facts, 310, 0);
    facts.timeline.samples = RULE_SAMPLES_MIN - 1;
    expect_advice("cores-unused", SEVERITY_WASTE, "3.1 of 16 cores were used on average (19 %).",
                  "Request fewer cores,");
    facts.job.cores_allowed_milli = 0;
    expect_advice("cores-unused", SEVERITY_WASTE, "3.1 of 32 cores were used on average (10 %).",
                  "Request fewer cores,");
    facts.job.cores = 0;
    expect_silent("cores-unused");
    facts.job.cores_allowed_milli = 1000;
    plain_cpu(&facts, 55, 0);
    expect_silent("cores-unused"); /* one core is the minimum */
}

static void serial_phases(void **state)
{
    (void)state;
    plain_timeline(&facts, TIMELINE_CPU, 0.5, 0.69, 1.0);
    expect_silent("serial-phases");
    plain_timeline(&facts, TIMELINE_CPU, 0.5, 0.7, 1.0);
    expect_advice("serial-phases", SEVERITY_HINT,
                  "For 20.0 s (20 % of the time) only one core was busy, but 15 at other times.",
                  "Check what ran from 0:50 to 1:10 after the start");
    plain_timeline(&facts, TIMELINE_CPU, 0.5, 0.7, 1.3);
    expect_silent("serial-phases");
    plain_timeline(&facts, TIMELINE_CPU, 0.5, 0.7, 0.4);
    expect_silent("serial-phases");
    plain_timeline(&facts, TIMELINE_CPU, 0, 1, 1.0);
    expect_silent("serial-phases"); /* serial all along: cores-unused applies */
    plain_timeline(&facts, TIMELINE_CPU, 0, 0.1, 2);
    assert_non_null(find("serial-phases"));
    facts.timeline.samples = RULE_SAMPLES_MIN - 1;
    expect_silent("serial-phases");
    facts.timeline.samples = RULE_SAMPLES_MIN;
    plain_count(&facts, COUNTER_time_waiting, 1000e9);
    expect_silent("serial-phases"); /* run-queue applies */
}

/* A process with eight threads that used 400 s, the busiest of them as given. */
static void one_thread_uses(double seconds)
{
    facts.process_count = 1;
    facts.process_number[0] = 5;
    facts.processes[0] = (struct process){ .name = bytes_of("lmp"), .path = bytes_of("/opt/lmp"), .thread_count = 8,
        .start_ns = PLAIN_START_NS, .end_ns = PLAIN_START_NS + (uint64_t)(PLAIN_S * 1e9) };
    counters_set(&facts.processes[0].counters, COUNTER_usertime, 400000000);
    facts.thread_count = 1;
    facts.threads[0] = (struct facts_thread){ .process = 5 };
    counters_set(&facts.threads[0].thread.counters, COUNTER_usertime, (uint64_t)(seconds * 1e6));
}

static void imbalance_of_threads(void **state)
{
    (void)state;
    plain_cpu(&facts, 400, 0);
    one_thread_uses(99);
    expect_silent("imbalance");
    one_thread_uses(101);
    expect_advice("imbalance", SEVERITY_HINT,
                  "One of 8 threads of lmp used 1 min 41 s of CPU time, the others 42.7 s on average.",
                  "Distribute the work");
    facts.job.summary.threads_peak = 7; /* they did not run at the same time */
    expect_silent("imbalance");
    facts.job.summary.threads_peak = 18;
    plain_cpu(&facts, 1210, 0); /* the cores had other work */
    expect_silent("imbalance");
}

static void imbalance_of_processes(void **state)
{
    (void)state;
    plain_cpu(&facts, 400, 0);
    one_thread_uses(0);
    facts.thread_count = 0;
    facts.processes[0].thread_count = 1;
    facts.job.summary.live_peak = 4;
    facts.executable_count = 1;
    facts.executables[0] = (struct summary_executable){ .name = bytes_of("lmp"),
                                                        .path = bytes_of("/opt/lmp"),
                                                        .count = 4,
                                                        .cpu_us = 400000000,
                                                        .wall_ns = (uint64_t)(4 * PLAIN_S * 1e9) };
    counters_set(&facts.processes[0].counters, COUNTER_usertime, 199000000);
    expect_silent("imbalance");
    counters_set(&facts.processes[0].counters, COUNTER_usertime, 205000000);
    expect_advice("imbalance", SEVERITY_HINT,
                  "One of 4 processes of lmp used 3 min 25 s of CPU time, the others 1 min 05 s on average.",
                  "Distribute the work");
    facts.executables[0].wall_ns /= 2; /* they did not run as long */
    expect_silent("imbalance");
    facts.executables[0].wall_ns *= 2;
    facts.job.summary.live_peak = 3;
    expect_silent("imbalance");
}

static void short_processes(void **state)
{
    (void)state;
    facts.job.summary.short_processes = 4210;
    facts.job.summary.short_wall_ns = 19900000000;
    expect_silent("short-processes");
    facts.job.summary.short_wall_ns = 20000000000;
    expect_advice("short-processes", SEVERITY_HINT,
                  "20 % of the wall time was spent in 4,210 processes of under 10 ms.", "Do more in");
    facts.shortest = (struct summary_executable){ .name = bytes_of("sed"), .short_count = 2106 };
    facts.job.summary.short_wall_ns = 52000000000;
    expect_advice("short-processes", SEVERITY_WASTE,
                  "Half (52 %) of the wall time was spent in 4,210 processes of under 10 ms, mostly sed.",
                  "Do more in");
    facts.job.summary.short_processes = 99;
    expect_silent("short-processes");
    facts.job.summary.short_processes = 100;
    facts.job.end_ns = facts.job.start_ns;
    expect_silent("short-processes");
}

static void run_queue(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_time_waiting, 640e9);
    expect_silent("run-queue");
    plain_count(&facts, COUNTER_time_waiting, 650e9);
    expect_advice("run-queue", SEVERITY_HINT,
                  "Threads waited 10 min 50 s for a CPU, 30 % of runnable time: up to 18 threads on 16 cores.",
                  "Start no more threads or");
    plain_cpu(&facts, 1300, 0);
    expect_advice("run-queue", SEVERITY_WASTE, "Threads waited 10 min 50 s for a CPU, 30 % of runnable time.",
                  "But the job used only 13 of 16 cores: check for other processes on the node, threads bound");
    plain_timeline(&facts, TIMELINE_STEAL, 0, 1, 0.09);
    assert_non_null(strstr(find("run-queue")->fix, "But the job"));
    plain_timeline(&facts, TIMELINE_STEAL, 0, 1, 0.1);
    assert_non_null(strstr(find("run-queue")->fix, "its hypervisor gave 0.1 of its cores"));
    plain_timeline(&facts, TIMELINE_NODE, 0, 1, 15 + 3.1);
    assert_non_null(strstr(find("run-queue")->fix, "its hypervisor gave 0.1 of its cores"));
    plain_timeline(&facts, TIMELINE_NODE, 0, 1, 15 + 3.3);
    assert_non_null(strstr(find("run-queue")->fix, "Other processes used 3.3 of the node's"));
    plain_clear_counter(&facts, COUNTER_time_waiting);
    expect_silent("run-queue");
    plain_cpu(&facts, 1, 0);
    plain_count(&facts, COUNTER_time_oncpu, 1e9);
    plain_count(&facts, COUNTER_time_waiting, 1.1e9);
    assert_non_null(find("run-queue"));
    plain_count(&facts, COUNTER_time_waiting, 0.9e9);
    expect_silent("run-queue");
    plain_count(&facts, COUNTER_time_waiting, 1.1e9);
    plain_cpu(&facts, 3, 0); /* two thirds of it without known waits */
    expect_silent("run-queue");
}

static void too_many_threads(void **state)
{
    (void)state;
    facts.job.summary.threads_peak = 127;
    expect_silent("too-many-threads");
    facts.job.summary.threads_peak = 128;
    expect_advice("too-many-threads", SEVERITY_HINT, "A peak of 128 threads on 16 cores.", "Each costs");
    plain_count(&facts, COUNTER_time_waiting, 1000e9);
    expect_silent("too-many-threads"); /* run-queue applies */
    plain_count(&facts, COUNTER_time_waiting, 0);
    facts.job.cores_allowed_milli = 1000;
    facts.job.summary.threads_peak = 63;
    expect_silent("too-many-threads");
    facts.job.summary.threads_peak = 64;
    expect_advice("too-many-threads", SEVERITY_HINT, "A peak of 64 threads on 1 core.", "Each costs");
    facts.job.cores_allowed_milli = facts.job.cores = 0;
    expect_silent("too-many-threads");
}

static void thread_churn(void **state)
{
    (void)state;
    facts.job.summary.threads = 10002;
    expect_silent("thread-churn");
    facts.job.summary.threads = 10003;
    expect_advice("thread-churn", SEVERITY_HINT, "10,000 threads were created, 100 per second.", "Use a thread");
    plain_duration(&facts, 5);
    facts.job.summary.threads = 1002;
    expect_silent("thread-churn");
    facts.job.summary.threads = 1003;
    expect_advice("thread-churn", SEVERITY_HINT, "1,000 threads were created, 200 per second.", "Use a thread");
}

static void preempted(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_invol_ctxsw, 749000);
    expect_silent("preempted");
    plain_count(&facts, COUNTER_invol_ctxsw, 750000);
    expect_advice("preempted", SEVERITY_HINT, "750,000 involuntary context switches, 500 per second of CPU time.",
                  "More");
    plain_count(&facts, COUNTER_vol_ctxsw, 249000);
    expect_advice("preempted", SEVERITY_HINT, "750,000 involuntary context switches, 500 per second of CPU time.",
                  "More");
    plain_count(&facts, COUNTER_vol_ctxsw, 250000);
    expect_advice("preempted", SEVERITY_HINT,
                  "1,000,000 context switches, 667 per second of CPU time: threads pass work to each other.",
                  "Pass larger chunks");
    plain_count(&facts, COUNTER_time_waiting, 1000e9);
    expect_silent("preempted"); /* run-queue applies */
    plain_count(&facts, COUNTER_time_waiting, 0);
    plain_clear_counter(&facts, COUNTER_invol_ctxsw);
    expect_silent("preempted");
    plain_cpu(&facts, 1, 0);
    plain_count(&facts, COUNTER_invol_ctxsw, 9999);
    expect_silent("preempted");
    plain_count(&facts, COUNTER_invol_ctxsw, 10000);
    assert_non_null(find("preempted"));
    plain_cpu(&facts, 0.99, 0);
    expect_silent("preempted");
}

static void system_time(void **state)
{
    (void)state;
    plain_cpu(&facts, 910, 590);
    expect_silent("system-time");
    plain_cpu(&facts, 900, 600);
    expect_advice("system-time", SEVERITY_HINT, "40 % of the CPU time, 10 min 00 s, was spent in the kernel.",
                  "'sonde run --syscall-time");
    plain_count(&facts, COUNTER_minflt, 31e6);
    expect_advice("system-time", SEVERITY_HINT, "40 % of the CPU time, 10 min 00 s, was spent in the kernel.",
                  "31,000,000 page faults");
    plain_count(&facts, COUNTER_syscr, 61e6);
    expect_advice("system-time", SEVERITY_HINT, "40 % of the CPU time, 10 min 00 s, was spent in the kernel.",
                  "61,032,768 read and write");
    facts.job.summary.images = 180000;
    expect_advice("system-time", SEVERITY_HINT, "40 % of the CPU time, 10 min 00 s, was spent in the kernel.",
                  "Much of it is starting and ending 180,000 programs");
    counters_set(&facts.job.summary.total, COUNTER_usertime,
                 2500000000); /* less than half of it has known waits */
    expect_silent("system-time");
    plain_clear_counter(&facts, COUNTER_systemtime);
    expect_silent("system-time");
    plain_cpu(&facts, 0, 0.9);
    expect_silent("system-time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(mostly_waiting), T(cores_unused), T(serial_phases), T(imbalance_of_threads), T(imbalance_of_processes),
        T(short_processes), T(run_queue), T(too_many_threads), T(thread_churn), T(preempted), T(system_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
