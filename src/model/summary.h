/* Totals of a job, computed once when a run is saved, so that reports need not read a million processes. */
#ifndef SONDE_MODEL_SUMMARY_H
#define SONDE_MODEL_SUMMARY_H

#include "model/run.h"

#define SUMMARY_SHORT_NS 10000000ull /* shorter processes are "short" */

/* Over all runs of the job: summary_add sums the fields, except those marked max. */
struct summary {
    uint64_t processes, threads, images; /* images: process images; processes: process instances */
    uint64_t failed, signalled;          /* exited with a status other than 0; terminated by a signal */
    uint64_t running, lost;              /* PROCESS_RUNNING, PROCESS_LOST */
    uint64_t unprobed;                   /* images without SEEN_PROBE */
    struct counters sum;                 /* of all images; read and write calls only if they are known for nearly all bytes */
    struct counters total;               /* run.total; can be more than sum */
    uint64_t short_processes;            /* shorter than SUMMARY_SHORT_NS */
    uint64_t short_wall_ns;              /* time in which only short processes and their ancestors ran */
    uint64_t short_cpu_us;
    uint64_t rss_peak_bytes;             /* max: of all processes together, sampled; 0: never sampled */
    uint64_t live_peak, threads_peak;    /* max: concurrent processes and threads */
    struct run_gaps gaps;
    uint64_t killed;                     /* signalled by SIGKILL, for example by the OOM killer */
    uint64_t crashed;                    /* signalled by SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS or SIGTRAP */
};

/* X(field): the fields that are summed, and those of which the maximum is taken. Also the columns of the database. */
#define SUMMARY_SUMS(X) \
    X(processes) X(threads) X(images) X(failed) X(signalled) X(killed) X(crashed) X(running) X(lost) \
    X(unprobed) X(short_processes) X(short_wall_ns) X(short_cpu_us)
#define SUMMARY_GAPS(X) X(records_lost) X(bytes_damaged) X(events_lost) X(ticks_late) /* of gaps: summed too */
#define SUMMARY_PEAKS(X) X(rss_peak_bytes) X(live_peak) X(threads_peak)

/* The set and metrics that rss_peak_bytes is computed from: PSS, else (older runs, older kernels) the sum of resident sizes. */
#define SUMMARY_TREE_SET "tree"
#define SUMMARY_PSS_METRIC "pss"
#define SUMMARY_RSS_METRIC "rss"
#define SUMMARY_CGROUP_METRIC "cgroup_peak"
#define SUMMARY_NO_COLUMN SIZE_MAX

/* The column with the memory of all processes together: that of the first metric, if it is known in any row, else that of
 * the second. PSS is not read at every tick: never mix the two. */
size_t summary_memory_column(const struct run_series *series);

/* The largest value of a metric in bytes; 0: unknown. */
uint64_t summary_peak_of(const struct run_series *series, const char *metric);

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

/* The executables of a run in the order of their first process. Strings are borrowed from the run. */
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
