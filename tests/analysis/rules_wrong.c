/* Failures and incomplete data: rules on both sides of their thresholds, and silent if a number is missing. */
#include "analysis/expect_advice.h"

#include <signal.h>

static void no_advice_for_a_good_job(void **state)
{
    (void)state;
    advice_find(&list, &facts);
    if (list.count)
        fail_msg("%s says: %s", list.items[0].rule->name, list.items[0].sentence);
}

static void no_advice_without_data(void **state)
{
    (void)state;
    memset(&facts, 0, sizeof facts);
    facts.job.ended = true;
    timeline_init(&facts.timeline, 0, 0);
    advice_find(&list, &facts);
    if (list.count)
        fail_msg("%s says: %s", list.items[0].rule->name, list.items[0].sentence);
}

static void job_failed(void **state)
{
    (void)state;
    expect_silent("job-failed");
    facts.job.exit_code = 2;
    expect_advice("job-failed", SEVERITY_PROBLEM, "The command exited with status 2.", "Check the command's output");
    facts.job.summary.failed = 12;
    facts.failing = (struct summary_executable){ .name = bytes_of("cc1"), .failed = 8 };
    expect_advice("job-failed", SEVERITY_PROBLEM, "The command exited with status 2.",
                  "12 processes failed in total, most often cc1 (8): sonde ps 4711 shows which.");
    facts.job.exit_code = 127;
    expect_advice("job-failed", SEVERITY_PROBLEM,
                  "The command, or a command in its script, was not found (exit status 127).", "Check");
    facts.job.exit_code = 126;
    expect_advice("job-failed", SEVERITY_PROBLEM, "The command could not be executed (exit status 126).", "Check");
    facts.job.exit_code = 128 + SIGTERM;
    expect_advice("job-failed", SEVERITY_PROBLEM,
                  "The command exited with status 143, which shells use for SIGTERM (terminated).", "");
    facts.job.exit_code = 0;
    facts.job.exit_signal = SIGSEGV;
    expect_advice("job-failed", SEVERITY_PROBLEM, "The command was terminated by SIGSEGV (segmentation fault).", "");
    facts.job.exit_signal = SIGINT;
    expect_advice("job-failed", SEVERITY_NOTE, "The command was terminated by SIGINT (interrupt).", "");
    facts.job.status_known = false;
    expect_silent("job-failed");
}

static void one_of_several_runs_failed(void **state)
{
    (void)state;
    struct store_run runs[] = {
        { .command = { "sh\0-c\0exit 3", 13 }, .status_known = true, .exit_code = 3 },
        { .command = { "sleep\0" "1", 8 }, .status_known = true },
        { .host = "node8" }, /* recorded by an agent */
    };
    facts.runs = (struct store_runs){ .list = runs, .count = 3 };
    facts.job.summary.killed = 1;
    expect_advice("job-failed", SEVERITY_PROBLEM, "1 of 2 runs failed: sh -c 'exit 3' exited with status 3.",
                  "Check the command's output");
    expect_advice("killed", SEVERITY_PROBLEM, "1 process was terminated by SIGKILL.", "If you did not do this");
    runs[0].exit_code = 0;
    expect_silent("job-failed");
    runs[0].exit_signal = SIGKILL; /* the rule killed applies */
    expect_silent("job-failed");
}

static void killed(void **state)
{
    (void)state;
    expect_silent("killed");
    facts.job.summary.killed = 1;
    expect_advice("killed", SEVERITY_NOTE, "1 process was terminated by SIGKILL.", "If you did not do this");
    facts.job.exit_code = 1;
    expect_advice("killed", SEVERITY_PROBLEM, "1 process was terminated by SIGKILL.", "If you did not do this");
    facts.job.summary.rss_peak_bytes = (uint64_t)(31 * GIB);
    facts.job.summary.killed = 2;
    expect_advice("killed", SEVERITY_PROBLEM,
                  "2 processes were terminated by SIGKILL; memory was at 97 % of its limit (31.0 GiB of 32.0 GiB).",
                  "Most likely by");
    facts.job.exit_signal = SIGKILL;
    facts.job.exit_code = 0;
    expect_advice("killed", SEVERITY_PROBLEM,
                  "The command was terminated by SIGKILL; memory was at 97 % of its limit (31.0 GiB of 32.0 GiB).",
                  "Most likely by");
    expect_silent("job-failed");
    facts.oom_kills = 3; /* a fact, whatever was sampled */
    expect_advice("killed", SEVERITY_PROBLEM, "3 processes killed: out of memory, with a limit of 32.0 GiB.",
                  "Request more memory");
    facts.oom_kills = 0;
    facts.job.memory_limit_bytes = facts.job.memory_bytes = 0;
    expect_advice("killed", SEVERITY_PROBLEM, "The command was terminated by SIGKILL.", "If you did not do this");
}

static void crashed(void **state)
{
    (void)state;
    expect_silent("crashed");
    facts.job.summary.crashed = 1;
    expect_advice("crashed", SEVERITY_HINT, "1 process crashed (SIGSEGV, SIGABRT, SIGBUS, SIGFPE or similar).",
                  "sonde ps 4711");
    facts.job.exit_code = 1;
    facts.job.summary.crashed = 3;
    expect_advice("crashed", SEVERITY_PROBLEM, "3 processes crashed (SIGSEGV, SIGABRT, SIGBUS, SIGFPE or similar).",
                  "sonde ps");
}

static void gaps(void **state)
{
    (void)state;
    expect_silent("holes");
    facts.job.summary.gaps.ticks_late = 9;
    expect_silent("holes");
    facts.job.summary.gaps.ticks_late = 10;
    expect_advice("holes", SEVERITY_NOTE, "10 samples were taken late: the timeline is coarser than requested.",
                  "The node was");
    facts.job.summary.gaps.events_lost = 1;
    expect_advice("holes", SEVERITY_NOTE, "1 kernel event lost: data of processes without the probe may be missing.",
                  "Run Sonde as root");
    counters_set(&facts.job.summary.total, COUNTER_usertime, 1479000000);
    expect_silent("run-queue");
    expect_advice("holes", SEVERITY_NOTE, "1 kernel event lost: data of processes without the probe may be missing.",
                  "");
    counters_set(&facts.job.summary.total, COUNTER_usertime, 1481000000);
    expect_advice("holes", SEVERITY_PROBLEM,
                  "31.0 s of CPU time, 2 % of the total, belong to processes that were not recorded.", "The total");
    facts.job.summary.gaps.bytes_damaged = 200;
    expect_advice("holes", SEVERITY_PROBLEM, "200 B of the spool were damaged: processes or threads may be missing.",
                  "Check");
    facts.job.summary.gaps.records_lost = 1;
    expect_advice("holes", SEVERITY_PROBLEM, "1 record could not be written: processes or threads may be missing.",
                  "Free disk");
    facts.job.ended = false;
    expect_advice("holes", SEVERITY_PROBLEM,
                  "Sonde was terminated before the job ended: the data covers only the time until then.",
                  "Find out what terminated");
}

static void left_running(void **state)
{
    (void)state;
    expect_silent("left-running");
    facts.job.summary.running = 1;
    facts.job.status_known = false; /* sonde attach has detached */
    expect_silent("left-running");
    facts.job.status_known = true;
    expect_advice("left-running", SEVERITY_HINT,
                  "1 process was still running when the command exited; the data covers only the time until then.",
                  "If it belongs");
    facts.job.summary.running = 2;
    expect_advice("left-running", SEVERITY_HINT,
                  "2 processes were still running when the command exited; the data covers only the time until then.",
                  "If they belong");
}

static void failed_processes(void **state)
{
    (void)state;
    facts.job.summary.processes = 100;
    facts.job.summary.failed = 9;
    expect_silent("failed-processes");
    facts.job.summary.failed = 10;
    expect_advice("failed-processes", SEVERITY_NOTE,
                  "10 of 100 processes exited with a nonzero status, although the command succeeded.", "Harmless");
    facts.failing = (struct summary_executable){ .name = bytes_of("grep"), .failed = 9 };
    expect_advice("failed-processes", SEVERITY_NOTE,
                  "10 of 100 processes exited with a nonzero status, although the command succeeded.",
                  "Most often grep (9 times)");
    facts.job.summary.processes = 101;
    expect_silent("failed-processes");
    facts.job.summary.processes = 100;
    facts.job.exit_code = 1;
    expect_silent("failed-processes"); /* job-failed applies */
}

static void memory_near_limit(void **state)
{
    (void)state;
    facts.job.summary.rss_peak_bytes = (uint64_t)(28.7 * GIB);
    expect_silent("memory-near-limit");
    facts.job.summary.rss_peak_bytes = (uint64_t)(28.9 * GIB);
    expect_advice("memory-near-limit", SEVERITY_PROBLEM, "Memory reached 28.9 GiB of 32.0 GiB, 90 % of the limit.",
                  "With a little");
    facts.job.summary.killed = 1; /* the rule killed applies */
    expect_silent("memory-near-limit");
    facts.job.summary.killed = 0;
    facts.job.memory_limit_bytes = 0;
    expect_silent("memory-near-limit");
    facts.job.summary.rss_peak_bytes = (uint64_t)(63 * GIB);
    expect_advice("memory-near-limit", SEVERITY_PROBLEM,
                  "Memory reached 63.0 GiB of 64.0 GiB, 98 % of the node's memory.", "");
    facts.job.memory_bytes = 0;
    expect_silent("memory-near-limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(no_advice_for_a_good_job), T(no_advice_without_data), T(job_failed),
        T(one_of_several_runs_failed), T(killed),
        T(crashed), T(gaps), T(left_running), T(failed_processes), T(memory_near_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
