/* Every rule on both sides of its thresholds, and silent where a number that it needs is not known. */
#include "judge/advice.h"

#include "judge/plain.h"
#include "tools/unit.h"

#include <math.h>
#include <signal.h>

static struct facts facts;
static struct advice_list list;

static int fresh(void **state)
{
    (void)state;
    plain_init(&facts);
    return 0;
}

static const struct advice *find(const char *rule)
{
    advice_of(&list, &facts);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].rule->name, rule) == 0)
            return &list.items[i];
    return NULL;
}

static void silent(const char *rule)
{
    const struct advice *advice = find(rule);
    if (advice)
        fail_msg("%s says: %s", rule, advice->sentence);
}

/* The rule says exactly this; what it advises begins as given. */
static void says(const char *rule, enum severity severity, const char *sentence, const char *remedy)
{
    const struct advice *advice = find(rule);
    if (!advice)
        fail_msg("%s is silent", rule);
    assert_string_equal(advice->sentence, sentence);
    assert_int_equal(advice->severity, severity);
    if (strncmp(advice->remedy, remedy, strlen(remedy)) != 0)
        fail_msg("%s advises: %s", rule, advice->remedy);
    assert_true(advice->weight >= 0 && advice->weight <= 1);
}

static void nothing_of_a_good_job(void **state)
{
    (void)state;
    advice_of(&list, &facts);
    if (list.count)
        fail_msg("%s says: %s", list.items[0].rule->name, list.items[0].sentence);
}

static void nothing_of_a_job_of_which_nothing_is_known(void **state)
{
    (void)state;
    memset(&facts, 0, sizeof facts);
    facts.job.ended = true;
    shape_init(&facts.shape, 0, 0);
    advice_of(&list, &facts);
    if (list.count)
        fail_msg("%s says: %s", list.items[0].rule->name, list.items[0].sentence);
}

static void job_failed(void **state)
{
    (void)state;
    silent("job-failed");
    facts.job.exit_code = 2;
    says("job-failed", SEVERITY_PROBLEM, "The command ended with exit status 2.", "Its own output");
    facts.job.summary.failed = 12;
    facts.failing = (struct summary_executable){ .name = bytes_of("cc1"), .failed = 8 };
    says("job-failed", SEVERITY_PROBLEM, "The command ended with exit status 2.",
         "12 processes failed in all, most often cc1 (8): sonde ps 4711 shows which.");
    facts.job.exit_code = 127;
    says("job-failed", SEVERITY_PROBLEM, "The command, or one in its script, was not found (exit status 127).", "Check");
    facts.job.exit_code = 126;
    says("job-failed", SEVERITY_PROBLEM, "The command could not be run (exit status 126).", "Check");
    facts.job.exit_code = 128 + SIGTERM;
    says("job-failed", SEVERITY_PROBLEM, "The command ended with exit status 143, as shells tell of SIGTERM (terminated).", "");
    facts.job.exit_code = 0;
    facts.job.exit_signal = SIGSEGV;
    says("job-failed", SEVERITY_PROBLEM, "The command was ended by SIGSEGV (segmentation fault).", "");
    facts.job.exit_signal = SIGINT;
    says("job-failed", SEVERITY_NOTE, "The command was ended by SIGINT (interrupt).", "");
    facts.job.status_known = false;
    silent("job-failed");
}

static void killed(void **state)
{
    (void)state;
    silent("killed");
    facts.job.summary.killed = 1;
    says("killed", SEVERITY_NOTE, "1 process was killed by SIGKILL.", "If it was not");
    facts.job.exit_code = 1;
    says("killed", SEVERITY_PROBLEM, "1 process was killed by SIGKILL.", "If it was not");
    facts.job.summary.rss_peak_bytes = (uint64_t)(31 * GIB);
    facts.job.summary.killed = 2;
    says("killed", SEVERITY_PROBLEM,
         "2 processes were killed by SIGKILL; memory was at 97 % of its limit (31.0 GiB of 32.0 GiB).", "So the kernel");
    facts.job.exit_signal = SIGKILL;
    facts.job.exit_code = 0;
    says("killed", SEVERITY_PROBLEM,
         "The command was killed by SIGKILL; memory was at 97 % of its limit (31.0 GiB of 32.0 GiB).", "So the kernel");
    silent("job-failed");
    facts.job.memory_limit_bytes = facts.job.memory_bytes = 0;
    says("killed", SEVERITY_PROBLEM, "The command was killed by SIGKILL.", "If it was not");
}

static void crashed(void **state)
{
    (void)state;
    silent("crashed");
    facts.job.summary.crashed = 1;
    says("crashed", SEVERITY_HINT, "1 process crashed (SIGSEGV, SIGABRT, SIGBUS, SIGFPE or the like).", "sonde ps 4711");
    facts.job.exit_code = 1;
    facts.job.summary.crashed = 3;
    says("crashed", SEVERITY_PROBLEM, "3 processes crashed (SIGSEGV, SIGABRT, SIGBUS, SIGFPE or the like).", "sonde ps");
}

static void holes(void **state)
{
    (void)state;
    silent("holes");
    facts.job.summary.gaps.ticks_late = 9;
    silent("holes");
    facts.job.summary.gaps.ticks_late = 10;
    says("holes", SEVERITY_NOTE, "10 samples came late: the curves over time are coarser than asked for.", "The machine");
    facts.job.summary.gaps.events_lost = 1;
    says("holes", SEVERITY_NOTE, "The kernel dropped 1 message to Sonde: processes without the probe may lack numbers.",
         "As root");
    counters_set(&facts.job.summary.total, COUNTER_usertime, 1479000000);
    silent("run-queue");
    says("holes", SEVERITY_NOTE, "The kernel dropped 1 message to Sonde: processes without the probe may lack numbers.", "");
    counters_set(&facts.job.summary.total, COUNTER_usertime, 1481000000);
    says("holes", SEVERITY_PROBLEM, "31.0 s of CPU time, 2 % of the whole, belong to processes that were not seen.",
         "The total");
    facts.job.summary.gaps.bytes_damaged = 200;
    says("holes", SEVERITY_PROBLEM, "200 B of the spool were damaged: processes or threads may be missing.", "Check");
    facts.job.summary.gaps.records_lost = 1;
    says("holes", SEVERITY_PROBLEM, "1 record could not be written: processes or threads may be missing.", "Make room");
    facts.job.ended = false;
    says("holes", SEVERITY_PROBLEM, "Sonde was ended before the job: the numbers go as far as it saw.", "Look who");
}

static void memory_near_limit(void **state)
{
    (void)state;
    facts.job.summary.rss_peak_bytes = (uint64_t)(28.7 * GIB);
    silent("memory-near-limit");
    facts.job.summary.rss_peak_bytes = (uint64_t)(28.9 * GIB);
    says("memory-near-limit", SEVERITY_PROBLEM, "Memory reached 28.9 GiB of 32.0 GiB, 90 % of the limit.", "A little more");
    facts.job.memory_limit_bytes = 0;
    silent("memory-near-limit");
    facts.job.summary.rss_peak_bytes = (uint64_t)(63 * GIB);
    says("memory-near-limit", SEVERITY_PROBLEM, "Memory reached 63.0 GiB of 64.0 GiB, 98 % of what the machine has.", "");
    facts.job.memory_bytes = 0;
    silent("memory-near-limit");
}

static void memory_unused(void **state)
{
    (void)state;
    plain_shape(&facts, SHAPE_MEMORY, 0, 1, 8.1 * GIB);
    plain_count(&facts, COUNTER_rssmax, 1024);
    facts.job.summary.rss_peak_bytes = (uint64_t)(8.1 * GIB);
    silent("memory-unused");
    plain_shape(&facts, SHAPE_MEMORY, 0, 1, 7.9 * GIB);
    facts.job.summary.rss_peak_bytes = (uint64_t)(7.9 * GIB);
    says("memory-unused", SEVERITY_HINT, "Memory stayed under 7.9 GiB of the 32.0 GiB allowed (25 %).", "Ask for 12.0 GiB:");
    facts.job.memory_limit_bytes = facts.job.memory_bytes;
    silent("memory-unused"); /* nobody asked for it: it is the machine's */
    facts.job.memory_limit_bytes = (uint64_t)(32 * GIB);
    plain_last(&facts, 9.9);
    silent("memory-unused");
    plain_last(&facts, 10);
    assert_non_null(find("memory-unused"));
    plain_shape(&facts, SHAPE_MEMORY, 0, 1, NAN);
    facts.job.summary.rss_peak_bytes = 0;
    silent("memory-unused"); /* the largest process alone says little */
}

static void mostly_waiting(void **state)
{
    (void)state;
    plain_cpu(&facts, 50, 1);
    silent("mostly-waiting");
    plain_cpu(&facts, 40, 1);
    says("mostly-waiting", SEVERITY_HINT, "0.4 of a core was busy on average: the job waited for most of its 1 min 40 s.",
         "Find out for what");
    silent("cores-unused");
    plain_cpu(&facts, 5, 0);
    plain_count(&facts, COUNTER_delayacct_blkio_time, 60e6);
    says("mostly-waiting", SEVERITY_WASTE, "0.05 of a core was busy on average: the job waited for most of its 1 min 40 s.",
         "It waited for storage");
    plain_last(&facts, 0.9);
    plain_cpu(&facts, 0.05, 0);
    silent("mostly-waiting");
    plain_init(&facts);
    plain_forget(&facts, COUNTER_usertime);
    plain_forget(&facts, COUNTER_systemtime);
    silent("mostly-waiting");
}

static void cores_unused(void **state)
{
    (void)state;
    plain_cpu(&facts, 970, 0);
    silent("cores-unused");
    plain_cpu(&facts, 950, 0);
    says("cores-unused", SEVERITY_HINT, "9.5 of 16 cores were used on average (59 %).", "Ask for fewer cores, or start more");
    plain_cpu(&facts, 310, 0);
    plain_shape(&facts, SHAPE_CPU, 0, 1, 4.2);
    says("cores-unused", SEVERITY_WASTE, "3.1 of 16 cores were used on average (19 %).",
         "Never more than 4.2 were busy at a time: ask for 5 cores, or start more at once");
    facts.shape.samples = RULE_SAMPLES_MIN - 1;
    says("cores-unused", SEVERITY_WASTE, "3.1 of 16 cores were used on average (19 %).", "Ask for fewer");
    facts.job.cores_allowed_milli = 0;
    says("cores-unused", SEVERITY_WASTE, "3.1 of 32 cores were used on average (10 %).", "Ask for fewer");
    facts.job.cores = 0;
    silent("cores-unused");
    facts.job.cores_allowed_milli = 1000;
    plain_cpu(&facts, 55, 0);
    silent("cores-unused"); /* one core has no fewer */
}

static void serial_phases(void **state)
{
    (void)state;
    plain_shape(&facts, SHAPE_CPU, 0.5, 0.69, 1.0);
    silent("serial-phases");
    plain_shape(&facts, SHAPE_CPU, 0.5, 0.7, 1.0);
    says("serial-phases", SEVERITY_HINT, "For 20.0 s (20 % of the time) only one core was busy, though 15 were at other times.",
         "See what ran from 0:50 to 1:10 after the start");
    plain_shape(&facts, SHAPE_CPU, 0.5, 0.7, 1.3);
    silent("serial-phases");
    plain_shape(&facts, SHAPE_CPU, 0.5, 0.7, 0.4);
    silent("serial-phases");
    plain_shape(&facts, SHAPE_CPU, 0, 1, 1.0);
    silent("serial-phases"); /* serial all along: cores-unused tells */
    plain_shape(&facts, SHAPE_CPU, 0, 0.1, 2);
    assert_non_null(find("serial-phases"));
    facts.shape.samples = RULE_SAMPLES_MIN - 1;
    silent("serial-phases");
}

/* A process of eight threads that used 400 s, the busiest of them as given. */
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
    silent("imbalance");
    one_thread_uses(101);
    says("imbalance", SEVERITY_HINT, "One of 8 threads of lmp used 1 min 41 s of CPU time, the others 42.7 s on average.",
         "Spread the work");
    facts.job.summary.threads_peak = 7; /* they were not there at the same time */
    silent("imbalance");
    facts.job.summary.threads_peak = 18;
    plain_cpu(&facts, 1210, 0); /* the cores had other work */
    silent("imbalance");
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
    facts.executables[0] = (struct summary_executable){ .name = bytes_of("lmp"), .path = bytes_of("/opt/lmp"), .count = 4,
        .cpu_us = 400000000, .wall_ns = (uint64_t)(4 * PLAIN_S * 1e9) };
    counters_set(&facts.processes[0].counters, COUNTER_usertime, 199000000);
    silent("imbalance");
    counters_set(&facts.processes[0].counters, COUNTER_usertime, 205000000);
    says("imbalance", SEVERITY_HINT,
         "One of 4 processes of lmp used 3 min 25 s of CPU time, the others 1 min 05 s on average.", "Spread the work");
    facts.executables[0].wall_ns /= 2; /* they did not live as long */
    silent("imbalance");
    facts.executables[0].wall_ns *= 2;
    facts.job.summary.live_peak = 3;
    silent("imbalance");
}

static void short_processes(void **state)
{
    (void)state;
    facts.job.summary.short_processes = 4210;
    facts.job.summary.short_wall_ns = 19900000000;
    silent("short-processes");
    facts.job.summary.short_wall_ns = 20000000000;
    says("short-processes", SEVERITY_HINT, "20 % of the wall time went into 4,210 processes of under 10 ms.", "Do more in");
    facts.shortest = (struct summary_executable){ .name = bytes_of("sed"), .short_count = 2106 };
    facts.job.summary.short_wall_ns = 52000000000;
    says("short-processes", SEVERITY_WASTE, "Half (52 %) of the wall time went into 4,210 processes of under 10 ms, mostly sed.",
         "Do more in");
    facts.job.summary.short_processes = 99;
    silent("short-processes");
    facts.job.summary.short_processes = 100;
    facts.job.end_ns = facts.job.start_ns;
    silent("short-processes");
}

static void run_queue(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_time_waiting, 640e9);
    silent("run-queue");
    plain_count(&facts, COUNTER_time_waiting, 650e9);
    says("run-queue", SEVERITY_HINT,
         "Threads that could run waited 10 min 50 s for a CPU, 30 % of their time: up to 18 threads on 16 cores.",
         "Start no more at once");
    plain_cpu(&facts, 1300, 0);
    says("run-queue", SEVERITY_WASTE, "Threads that could run waited 10 min 50 s for a CPU, 30 % of their time.",
         "Cores were free nevertheless");
    plain_forget(&facts, COUNTER_time_waiting);
    silent("run-queue");
    plain_count(&facts, COUNTER_time_waiting, 0.9e9);
    plain_count(&facts, COUNTER_time_oncpu, 1e9);
    silent("run-queue");
}

static void too_many_threads(void **state)
{
    (void)state;
    facts.job.summary.threads_peak = 127;
    silent("too-many-threads");
    facts.job.summary.threads_peak = 128;
    says("too-many-threads", SEVERITY_HINT, "128 threads lived at the same time on 16 cores.", "Each takes");
    plain_count(&facts, COUNTER_time_waiting, 1000e9);
    silent("too-many-threads"); /* run-queue has said it */
    plain_count(&facts, COUNTER_time_waiting, 0);
    facts.job.cores_allowed_milli = 1000;
    facts.job.summary.threads_peak = 63;
    silent("too-many-threads");
    facts.job.summary.threads_peak = 64;
    says("too-many-threads", SEVERITY_HINT, "64 threads lived at the same time on 1 core.", "Each takes");
    facts.job.cores_allowed_milli = facts.job.cores = 0;
    silent("too-many-threads");
}

static void thread_churn(void **state)
{
    (void)state;
    facts.job.summary.threads = 10002;
    silent("thread-churn");
    facts.job.summary.threads = 10003;
    says("thread-churn", SEVERITY_HINT, "10,000 threads were made, 100 a second.", "Keep a pool");
    plain_last(&facts, 5);
    facts.job.summary.threads = 1002;
    silent("thread-churn");
    facts.job.summary.threads = 1003;
    says("thread-churn", SEVERITY_HINT, "1,000 threads were made, 200 a second.", "Keep a pool");
}

static void preempted(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_invol_ctxsw, 749000);
    silent("preempted");
    plain_count(&facts, COUNTER_invol_ctxsw, 750000);
    says("preempted", SEVERITY_HINT, "Running threads were taken off the CPU 750,000 times, 500 a second of CPU time.", "More");
    plain_count(&facts, COUNTER_time_waiting, 1000e9);
    silent("preempted"); /* run-queue has said it */
    plain_count(&facts, COUNTER_time_waiting, 0);
    plain_forget(&facts, COUNTER_invol_ctxsw);
    silent("preempted");
    plain_cpu(&facts, 1, 0);
    plain_count(&facts, COUNTER_invol_ctxsw, 9999);
    silent("preempted");
}

static void block_io(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_delayacct_blkio_time, 374e6);
    silent("block-io");
    plain_count(&facts, COUNTER_delayacct_blkio_time, 376e6);
    says("block-io", SEVERITY_HINT,
         "Processes stood still for 6 min 16 s until storage answered, 20 % of the time they ran or stood.", "Read in larger");
    plain_count(&facts, COUNTER_delayacct_blkio_time, 1501e6);
    assert_int_equal(find("block-io")->severity, SEVERITY_WASTE);
    plain_forget(&facts, COUNTER_delayacct_blkio_time);
    silent("block-io");
    plain_cpu(&facts, 1, 0);
    plain_count(&facts, COUNTER_delayacct_blkio_time, 0.99e6);
    silent("block-io");
}

static void io_phases(void **state)
{
    (void)state;
    plain_shape(&facts, SHAPE_STORAGE, 0, 1, 20 * 1048576.0);
    plain_shape(&facts, SHAPE_CPU, 0.2, 0.39, 0.1);
    silent("io-phases");
    plain_shape(&facts, SHAPE_CPU, 0.2, 0.4, 0.1);
    says("io-phases", SEVERITY_HINT,
         "For 20.0 s (20 % of the time) the job moved data from or to storage, 20.0 MiB/s, and hardly computed.", "Let reading");
    plain_shape(&facts, SHAPE_STORAGE, 0, 1, 9.9 * 1048576);
    silent("io-phases");
    plain_shape(&facts, SHAPE_STORAGE, 0, 1, NAN);
    silent("io-phases");
    plain_shape(&facts, SHAPE_STORAGE, 0, 1, 20 * 1048576.0);
    plain_last(&facts, 9.9);
    silent("io-phases");
}

static void small_io(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_syscw, 100000);
    plain_count(&facts, COUNTER_wchar, 102400000);
    silent("small-io");
    plain_count(&facts, COUNTER_wchar, 1200000);
    says("small-io", SEVERITY_HINT, "100,000 write calls moved only 12 B each.", "Gather them");
    plain_last(&facts, 101);
    silent("small-io");
    plain_last(&facts, 100);
    plain_forget(&facts, COUNTER_wchar);
    silent("small-io");
    plain_count(&facts, COUNTER_syscr, 99999);
    plain_count(&facts, COUNTER_rchar, 200000);
    silent("small-io");
    plain_count(&facts, COUNTER_syscr, 100000);
    says("small-io", SEVERITY_HINT, "100,000 read calls moved only 2 B each.", "Gather them");
}

static void storage_rereads(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_read_bytes, 7.9 * GIB);
    silent("storage-rereads");
    plain_count(&facts, COUNTER_read_bytes, 8 * GIB);
    says("storage-rereads", SEVERITY_HINT,
         "Storage delivered 8.0 GiB, though programs read 4.0 GiB: files were mapped or read ahead in vain.", "For scattered");
    plain_forget(&facts, COUNTER_rchar);
    silent("storage-rereads");
    plain_count(&facts, COUNTER_rchar, 0);
    plain_count(&facts, COUNTER_read_bytes, 0.9 * GIB);
    silent("storage-rereads");
}

static void system_time(void **state)
{
    (void)state;
    plain_cpu(&facts, 910, 590);
    silent("system-time");
    plain_cpu(&facts, 900, 600);
    says("system-time", SEVERITY_HINT, "40 % of the CPU time (10 min 00 s) was spent in the kernel.", "strace -c");
    plain_count(&facts, COUNTER_minflt, 31e6);
    says("system-time", SEVERITY_HINT, "40 % of the CPU time (10 min 00 s) was spent in the kernel.", "31,000,000 page faults");
    plain_count(&facts, COUNTER_syscr, 61e6);
    says("system-time", SEVERITY_HINT, "40 % of the CPU time (10 min 00 s) was spent in the kernel.", "61,032,768 read and write");
    facts.job.summary.images = 180000;
    says("system-time", SEVERITY_HINT, "40 % of the CPU time (10 min 00 s) was spent in the kernel.",
         "Much of it starts and ends 180,000 programs");
    plain_forget(&facts, COUNTER_systemtime);
    silent("system-time");
    plain_cpu(&facts, 0, 0.9);
    silent("system-time");
}

static void page_faults(void **state)
{
    (void)state;
    plain_count(&facts, COUNTER_majflt, 999);
    silent("page-faults");
    plain_count(&facts, COUNTER_majflt, 1000);
    says("page-faults", SEVERITY_HINT, "1,000 page faults waited for a disk, 10 a second.", "Programs, libraries");
    facts.job.summary.rss_peak_bytes = (uint64_t)(26 * GIB);
    says("page-faults", SEVERITY_PROBLEM, "1,000 page faults waited for a disk, 10 a second.", "Memory was at 81 %");
    plain_last(&facts, 101);
    silent("page-faults");
    plain_last(&facts, 100);
    plain_forget(&facts, COUNTER_majflt);
    silent("page-faults");
}

static void left_running(void **state)
{
    (void)state;
    silent("left-running");
    facts.job.summary.running = 1;
    says("left-running", SEVERITY_HINT, "1 process still ran when the command had ended; the numbers are those until then.",
         "If they belong");
    facts.job.summary.running = 2;
    says("left-running", SEVERITY_HINT, "2 processes still ran when the command had ended; the numbers are those until then.",
         "If they belong");
}

static void failed_processes(void **state)
{
    (void)state;
    facts.job.summary.processes = 100;
    facts.job.summary.failed = 9;
    silent("failed-processes");
    facts.job.summary.failed = 10;
    says("failed-processes", SEVERITY_NOTE, "10 of 100 processes ended with a status other than 0, though the command ended well.",
         "Harmless");
    facts.failing = (struct summary_executable){ .name = bytes_of("grep"), .failed = 9 };
    says("failed-processes", SEVERITY_NOTE, "10 of 100 processes ended with a status other than 0, though the command ended well.",
         "Most often grep (9 times)");
    facts.job.summary.processes = 101;
    silent("failed-processes");
    facts.job.summary.processes = 100;
    facts.job.exit_code = 1;
    silent("failed-processes"); /* job-failed tells */
}

static void too_short(void **state)
{
    (void)state;
    plain_last(&facts, 5);
    silent("too-short");
    plain_last(&facts, 4.9);
    says("too-short", SEVERITY_NOTE, "The job took 4.9 s, sampled every 1s: too short to show its shape over time.",
         "Sample with sonde run -p 90ms.");
    plain_last(&facts, 0.11);
    says("too-short", SEVERITY_NOTE, "The job took 110 ms, sampled every 1s: too short to show its shape over time.",
         "Sample with sonde run -p 10ms.");
    plain_last(&facts, 0.09);
    silent("too-short");
    plain_last(&facts, 0.11);
    facts.job.period_ns = 10000000;
    silent("too-short");
    facts.job.period_ns = 0;
    silent("too-short");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, fresh)
    const struct CMUnitTest tests[] = {
        T(nothing_of_a_good_job), T(nothing_of_a_job_of_which_nothing_is_known), T(job_failed), T(killed), T(crashed),
        T(holes), T(memory_near_limit), T(memory_unused), T(mostly_waiting), T(cores_unused), T(serial_phases),
        T(imbalance_of_threads), T(imbalance_of_processes), T(short_processes), T(run_queue), T(too_many_threads),
        T(thread_churn), T(preempted), T(block_io), T(io_phases), T(small_io), T(storage_rereads), T(system_time),
        T(page_faults), T(left_running), T(failed_processes), T(too_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
