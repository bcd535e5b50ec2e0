/* Jobs for the tests of the report: one without issues and with all tables, one with everything wrong, one without
 * data, and one with extreme strings and numbers. No clock, no store. */
#ifndef SONDE_TESTS_SHOW_JOBS_H
#define SONDE_TESTS_SHOW_JOBS_H

#include "analysis/plain.h"

#include <math.h>

static inline struct process jobs_process(const char *name, struct bytes args, uint32_t pid, double from_s, double to_s,
                                          double cpu_s)
{
    struct process process = { .pid = pid,
                               .name = bytes_of(name),
                               .path = bytes_of(name),
                               .args = args,
                               .thread_count = 1,
                               .start_ns = PLAIN_START_NS + (uint64_t)(from_s * 1e9),
                               .end_ns = PLAIN_START_NS + (uint64_t)(to_s * 1e9),
                               .status_known = true };
    counters_set(&process.counters, COUNTER_usertime, (uint64_t)(cpu_s * 1e6));
    counters_set(&process.counters, COUNTER_rssmax, (uint64_t)(3000 + cpu_s * 8400));
    counters_set(&process.counters, COUNTER_rchar, (uint64_t)(cpu_s * 2.9e6));
    counters_set(&process.counters, COUNTER_wchar, (uint64_t)(cpu_s * 1.4e6));
    return process;
}

static inline void jobs_add_process(struct facts *facts, struct process process)
{
    facts->process_number[facts->process_count] = (uint32_t)facts->process_count;
    facts->processes[facts->process_count++] = process;
}

static inline void jobs_add_executable(struct facts *facts, const char *name, uint64_t count, double cpu_s,
                                       double wall_s)
{
    facts->executables_all++;
    facts->executables[facts->executable_count++] = (struct summary_executable){ .name = bytes_of(name),
        .path = bytes_of(name), .count = count, .cpu_us = (uint64_t)(cpu_s * 1e6), .wall_ns = (uint64_t)(wall_s * 1e9),
        .rss_max_kb = (uint64_t)(3000 + cpu_s * 8400), .rchar = (uint64_t)(cpu_s * 2.9e6),
        .wchar = (uint64_t)(cpu_s * 1.4e6) };
}

static inline void jobs_add_thread(struct facts *facts, uint32_t process, const char *name, uint32_t tid, double cpu_s)
{
    struct facts_thread *thread = &facts->threads[facts->thread_count++];
    *thread = (struct facts_thread){ .process = process };
    memcpy(thread->name, name, strnlen(name, sizeof thread->name - 1));
    thread->thread.tid = tid;
    thread->thread.start_ns = PLAIN_START_NS + 1000000000;
    thread->thread.end_ns = PLAIN_START_NS + 99000000000;
    counters_set(&thread->thread.counters, COUNTER_usertime, (uint64_t)(cpu_s * 1e6));
    counters_set(&thread->thread.counters, COUNTER_time_waiting, 1500000000);
}

static inline void jobs_good(struct facts *facts)
{
    static const char args[] = "/opt/solve/bin/solve\0-n\0" "16\0a file";
    plain_init(facts);
    facts->job.tags = "case:7;exp:alpha";
    for (int bin = 0; bin < TIMELINE_BINS; bin++) {
        double part = (double)bin / TIMELINE_BINS;
        facts->timeline.line[TIMELINE_CPU][bin] = 15.5 - 8 * exp(-20 * part);
        facts->timeline.line[TIMELINE_MEMORY][bin] = 16 * GIB * sqrt(part);
        facts->timeline.line[TIMELINE_NODE][bin] = 16.2;
        facts->timeline.line[TIMELINE_IOWAIT][bin] = 0.3;
        facts->timeline.line[TIMELINE_STORAGE][bin] = bin % 120 < 20 ? 80e6 : 1e3;
    }
    jobs_add_executable(facts, "solve", 1, 1480, 99.5);
    jobs_add_executable(facts, "bash", 2, 0.9, 100);
    jobs_add_executable(facts, "unseen", 1, 0, 0);
    facts->executables[2].rss_max_kb = 0;
    facts->job.summary.processes = facts->job.summary.images = 4;
    jobs_add_process(facts, jobs_process("solve", (struct bytes){ args, sizeof args }, 4712, 0.3, 99.8, 1480));
    jobs_add_process(facts, jobs_process("bash", (struct bytes){ "bash\0job.sh", 11 }, 4711, 0, 100, 0.8));
    jobs_add_process(facts, jobs_process("bash", bytes_of("bash"), 4713, 0.1, 0.2, 0.1));
    facts->processes[0].thread_count = 16;
    jobs_add_thread(facts, 0, "worker-1", 4714, 93);
    jobs_add_thread(facts, 0, "worker-2", 4715, 92);
    jobs_add_thread(facts, 0, "solve", 4712, 91);
    facts->events[facts->event_count++] = (struct facts_event){ "instructions", 6123456789012 };
    facts->events[facts->event_count++] = (struct facts_event){ "cycles", 4056789012345 };
}

static inline void jobs_bad(struct facts *facts)
{
    plain_init(facts);
    struct store_job *job = &facts->job;
    struct summary *summary = &job->summary;
    job->exit_code = 2;
    job->name = "build";
    job->command = (struct bytes){ "make\0-j\0CFLAGS=-O2 -g\0it's", 26 };
    summary->processes = 4321;
    summary->images = 6400;
    summary->threads = 5000;
    summary->failed = 12;
    summary->killed = 1;
    summary->crashed = summary->signalled = 2;
    summary->running = summary->lost = 1;
    summary->unprobed = 40;
    summary->live_peak = 30;
    summary->threads_peak = 150;
    summary->short_processes = 4210;
    summary->short_wall_ns = 52000000000;
    summary->rss_peak_bytes = (uint64_t)(31 * GIB);
    summary->gaps = (struct run_gaps){ 3, 17, 5, 20 };
    plain_cpu(facts, 210, 190);
    plain_clear_counter(facts, COUNTER_delayacct_blkio_time);
    plain_count(facts, COUNTER_time_waiting, 500e9);
    plain_count(facts, COUNTER_time_oncpu, 400e9);
    facts->shortest = (struct summary_executable){ .name = bytes_of("sed"), .short_count = 3000 };
    facts->failing = (struct summary_executable){ .name = bytes_of("cc1"), .failed = 8 };
    for (int i = 0; i < FACTS_TOP; i++)
        jobs_add_executable(facts, i ? "conftest" : "cc1", (uint64_t)(1200 - 100 * i), 190.0 / (i + 1),
                            900.0 / (i + 1));
    facts->executables_all = 53;
    facts->rest =
        (struct summary_executable){ .count = 321, .cpu_us = 4321000, .wall_ns = 54321000000, .rss_max_kb = 4000 };
    for (uint32_t i = 0; i < FACTS_TOP; i++)
        jobs_add_process(facts, jobs_process("cc1", bytes_of("cc1"), 1000 + i, i, i + 2.5, 2.0 - i / 10.0));
    plain_timeline(facts, TIMELINE_CPU, 0, 0.4, 1);
    plain_timeline(facts, TIMELINE_CPU, 0.9, 1, NAN);
}

static inline void jobs_missing(struct facts *facts)
{
    memset(facts, 0, sizeof *facts);
    facts->job.job_id = "7";
    facts->job.start_ns = PLAIN_START_NS;
    timeline_init(&facts->timeline, PLAIN_START_NS, 0);
}

/* The largest numbers and the most hostile strings. */
static inline void jobs_hostile(struct facts *facts)
{
    static char command[120000];
    static const char nasty[] = "\033[31mred\033[0m\r\n\t\xff\xfe 名前がとても長いプログラム\xe2\x80\xae"
                                "drowssap";
    jobs_bad(facts);
    struct store_job *job = &facts->job;
    memset(command, 'x', sizeof command);
    job->command = (struct bytes){ command, sizeof command };
    job->name = job->user = job->cwd = job->tags = job->hosts = nasty;
    job->job_id = "an-id-of-a-batch-system-that-likes-long-ids-very-much-and-has-no-blank-in-any-of-them-0123456789."
                  "server";
    job->cores_allowed_milli = UINT64_MAX;
    job->cores = job->memory_bytes = job->memory_limit_bytes = UINT64_MAX;
    job->end_ns = UINT64_MAX;
    job->exit_code = 0;
    job->exit_signal = 64;
    uint64_t *number = (uint64_t *)&job->summary;
    for (size_t i = 0; i < sizeof job->summary / sizeof *number; i++)
        number[i] = UINT64_MAX;
    facts->host.kernel = facts->host.cpu_model = bytes_of(nasty);
    facts->host_count = 99999;
    for (size_t i = 0; i < FACTS_TOP; i++) {
        facts->executables[i] = (struct summary_executable){ bytes_of(nasty), bytes_of(nasty), UINT64_MAX, UINT64_MAX,
            UINT64_MAX, UINT64_MAX / 1000, UINT64_MAX, UINT64_MAX >> 10, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
            UINT64_MAX, UINT64_MAX };
        struct process *process = &facts->processes[i];
        process->pid = UINT32_MAX;
        process->name = bytes_of(nasty);
        process->args = job->command;
        process->end_ns = UINT64_MAX;
        for (int k = 0; k < COUNTERS_SIZE; k++)
            counters_set(&process->counters, (enum counter)k, UINT64_MAX >> 11);
        jobs_add_thread(facts, (uint32_t)i, nasty, UINT32_MAX, 1e12);
    }
    facts->events[facts->event_count++] = (struct facts_event){ nasty, UINT64_MAX };
    for (int line = 0; line < TIMELINE_LINES; line++)
        plain_timeline(facts, (enum timeline_line)line, 0, 1, 1e19);
    facts->timeline.end_ns = UINT64_MAX;
}

#endif
