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
    struct counters sum;                 /* own counters of all images added */
    struct counters total;               /* the truth: getrusage of all children; may be more than sum */
    uint64_t short_processes;            /* lived less than SUMMARY_SHORT_NS */
    uint64_t short_wall_ns;              /* at least one of them was alive, and none else but their ancestors */
    uint64_t short_cpu_us;
    uint64_t rss_peak_bytes;             /* max: of the sampled sum; 0 when never sampled */
    uint64_t live_peak, threads_peak;    /* max: alive at one time */
    struct run_gaps gaps;
    uint64_t killed;                     /* of those signalled: by SIGKILL, as the kernel does when memory runs out */
    uint64_t crashed;                    /* of those signalled: SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP */
};

/* All processes of one executable of a job. */
struct summary_executable {
    struct bytes name, path;
    uint64_t count, short_count, failed;
    uint64_t cpu_us, wall_ns; /* sums */
    uint64_t rss_max_kb;
    uint64_t read_bytes, write_bytes, rchar, wchar;
    uint64_t waiting_ns, blkio_us;
};

void summary_of_run(struct summary *summary, const struct run *run);

/* Adds the summary of another run of the same job. */
void summary_add(struct summary *summary, const struct summary *more);

#endif
