/* The facts of a job without issues: 100 s on 16 of 32 cores, well used. Tests change one fact. */
#ifndef SONDE_TESTS_ANALYSIS_PLAIN_H
#define SONDE_TESTS_ANALYSIS_PLAIN_H

#include "analysis/facts.h"

#include <string.h>

#define PLAIN_START_NS 1700000000000000000ull
#define PLAIN_S 100.0
#define PLAIN_CORES 16
#define GIB (1024.0 * 1024 * 1024)

static inline void plain_count(struct facts *facts, enum counter counter, double value)
{
    counters_set(&facts->job.summary.sum, counter, (uint64_t)value);
}

static inline void plain_clear_counter(struct facts *facts, enum counter counter)
{
    facts->job.summary.sum.known &= ~(1ull << counter);
    facts->job.summary.total.known &= ~(1ull << counter);
}

static inline void plain_cpu(struct facts *facts, double user_s, double system_s)
{
    plain_count(facts, COUNTER_usertime, user_s * 1e6);
    plain_count(facts, COUNTER_systemtime, system_s * 1e6);
    counters_set(&facts->job.summary.total, COUNTER_usertime, (uint64_t)(user_s * 1e6));
    counters_set(&facts->job.summary.total, COUNTER_systemtime, (uint64_t)(system_s * 1e6));
}

/* Sets the duration; the other facts stay. */
static inline void plain_duration(struct facts *facts, double seconds)
{
    facts->job.end_ns = facts->job.start_ns + (uint64_t)(seconds * 1e9);
    facts->timeline.start_ns = facts->job.start_ns;
    facts->timeline.end_ns = facts->job.end_ns;
}

/* Sets a timeline between two positions (0..1). */
static inline void plain_timeline(struct facts *facts, enum timeline_line line, double from, double to, double value)
{
    for (int bin = (int)(from * TIMELINE_BINS + 0.5); bin < (int)(to * TIMELINE_BINS + 0.5); bin++)
        facts->timeline.line[line][bin] = value;
}

static inline void plain_init(struct facts *facts)
{
    memset(facts, 0, sizeof *facts);
    facts->job = (struct store_job){
        .row = 1, .job_id = "4711", .name = "solve", .user = "anna", .cwd = "/home/anna", .tags = "", .hosts = "node7",
        .command = { "solve\0-n\0" "16", 11 }, .start_ns = PLAIN_START_NS, .ended = true, .status_known = true,
        .host_count = 1, .cores = 32, .cores_allowed_milli = PLAIN_CORES * 1000, .memory_bytes = (uint64_t)(64 * GIB),
        .memory_limit_bytes = (uint64_t)(32 * GIB), .period_ns = 1000000000,
        .summary = { .processes = 3, .images = 3, .threads = 18, .live_peak = 3, .threads_peak = 18,
                     .rss_peak_bytes = (uint64_t)(16 * GIB) },
    };
    facts->sampled_memory = FACTS_MEMORY_PSS;
    timeline_init(&facts->timeline, 0, 1);
    plain_duration(facts, PLAIN_S);
    facts->timeline.samples = 100;
    plain_timeline(facts, TIMELINE_CPU, 0, 1, 15);
    plain_timeline(facts, TIMELINE_MEMORY, 0, 1, 16 * GIB);
    plain_timeline(facts, TIMELINE_STORAGE, 0, 1, 0);
    plain_cpu(facts, 1450, 50);
    plain_count(facts, COUNTER_rssmax, 12 * GIB / 1024);
    plain_count(facts, COUNTER_time_oncpu, 1500e9);
    plain_count(facts, COUNTER_time_waiting, 20e9);
    plain_count(facts, COUNTER_delayacct_blkio_time, 3e6);
    plain_count(facts, COUNTER_vol_ctxsw, 40000);
    plain_count(facts, COUNTER_invol_ctxsw, 9000);
    plain_count(facts, COUNTER_minflt, 200000);
    plain_count(facts, COUNTER_majflt, 12);
    plain_count(facts, COUNTER_rchar, 4 * GIB);
    plain_count(facts, COUNTER_wchar, 2 * GIB);
    plain_count(facts, COUNTER_syscr, 65536);
    plain_count(facts, COUNTER_syscw, 32768);
    plain_count(facts, COUNTER_read_bytes, 1 * GIB);
    plain_count(facts, COUNTER_write_bytes, 2 * GIB);
    facts->host_count = 1;
    facts->host = (struct host){ .name = bytes_of("node7"), .kernel = bytes_of("6.18.0-amd64"),
        .cpu_model = bytes_of("AMD EPYC 7302 16-Core Processor"), .cores = 32, .memory_bytes = (uint64_t)(64 * GIB) };
}

#endif
