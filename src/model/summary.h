/* A job in a few numbers, made once when a run is filed, so that no report has to walk a million processes. */
#ifndef SONDE_MODEL_SUMMARY_H
#define SONDE_MODEL_SUMMARY_H

#include "model/run.h"

#define SUMMARY_SHORT_NS 10000000ull /* a process that lived less is "short" */

/* Sums of all its runs. Each number adds up when a second run is filed under the same job, save those marked max. */
struct summary {
    uint64_t processes, threads, images; /* images: process records; processes: distinct pids' lives */
    uint64_t failed, signalled;          /* ended with a status that is not 0; by a signal */
    uint64_t running, lost;              /* PROCESS_RUNNING, PROCESS_LOST */
    uint64_t unprobed;                   /* records without SEEN_PROBE */
    struct counters sum;                 /* own counters of all images added; calls only with those of the bytes */
    struct counters total;               /* as run.total; may be more than sum */
    uint64_t short_processes;            /* lived less than SUMMARY_SHORT_NS */
    uint64_t short_wall_ns;              /* at least one of them was alive, and none else but their ancestors */
    uint64_t short_cpu_us;
    uint64_t rss_peak_bytes;             /* max: of the sampled sum; 0 when never sampled */
    uint64_t live_peak, threads_peak;    /* max: alive at one time */
    struct run_gaps gaps;
    uint64_t killed;                     /* of those signalled: by SIGKILL, as the kernel does when memory runs out */
    uint64_t crashed;                    /* of those signalled: SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP */
};

/* X(field): what adds up, and what takes the larger, in struct summary; the columns of the store are named so too. */
#define SUMMARY_SUMS(X) \
    X(processes) X(threads) X(images) X(failed) X(signalled) X(killed) X(crashed) X(running) X(lost) \
    X(unprobed) X(short_processes) X(short_wall_ns) X(short_cpu_us)
#define SUMMARY_GAPS(X) X(records_lost) X(bytes_damaged) X(events_lost) X(ticks_late) /* of gaps: add up too */
#define SUMMARY_PEAKS(X) X(rss_peak_bytes) X(live_peak) X(threads_peak)

/* The set and its metric from whose samples rss_peak_bytes comes. */
#define SUMMARY_TREE_SET "tree"
#define SUMMARY_RSS_METRIC "rss"

/* All processes of one executable of a job. */
struct summary_executable {
    struct bytes name, path;
    uint64_t count, short_count, failed;
    uint64_t cpu_us, wall_ns; /* sums */
    uint64_t rss_max_kb;
    uint64_t read_bytes, write_bytes, rchar, wchar;
    uint64_t waiting_ns, blkio_us;
};

void summary_of_run(struct summary *summary, const struct run *run); /* model/summary.c, peaks by model/concurrency.c */

/* The executables of a run in the order of their first process. Texts are borrowed from the run. */
struct summary_executables {
    struct summary_executable *items;
    size_t count;
    uint32_t *of_process; /* run.process_count of them: index in items */
};

/* Sums the processes of each executable (same name and path). NOMEM. */
enum err summary_executables_of_run(struct summary_executables *executables, const struct run *run);
void summary_executables_clear(struct summary_executables *executables);

/* Adds the summary of another run of the same job. */
void summary_add(struct summary *summary, const struct summary *more);

#endif
