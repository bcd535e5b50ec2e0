/* The data of one job that rules evaluate and the report prints, read from the job database with a few queries whose
 * cost does not depend on the number of processes (except for jobs with perf events, where incomplete counts are looked
 * up). Missing numbers are NAN, or false in the accompanying flag. */
#ifndef SONDE_ANALYSIS_FACTS_H
#define SONDE_ANALYSIS_FACTS_H

#include "analysis/syscall_stats.h"
#include "analysis/mpi.h"
#include "analysis/timeline.h"
#include "store/runs.h"

#define FACTS_TOP 10 /* number of executables, processes and threads that are kept: those with the most CPU time */

struct facts_thread {
    uint32_t process; /* number of its process in the job */
    char name[17];
    struct thread thread;
};

/* Where the peak memory of a job comes from. */
enum facts_memory_source {
    FACTS_MEMORY_UNKNOWN, /* also: sampled, but the samples were deleted */
    FACTS_MEMORY_PROCESS, /* the largest process: the kernel's own maximum (VmHWM, ru_maxrss) */
    FACTS_MEMORY_PSS,     /* samples of all processes, shared pages counted once */
    FACTS_MEMORY_RSS,     /* samples of all processes, shared pages counted in each */
    FACTS_MEMORY_CGROUP,  /* the cgroup's own maximum; if recorded by agents, with page cache */
};

struct facts_event {
    const char *name;
    uint64_t sum;
};

struct facts {
    struct store_job job;
    struct host host;      /* the first, by name */
    size_t host_count;
    struct store_runs runs;

    struct summary_executable executables[FACTS_TOP]; /* most CPU time first */
    size_t executable_count;                          /* of those kept */
    size_t executables_all;                           /* of the job */
    struct summary_executable rest;                   /* totals of those not kept; no name */
    struct summary_executable shortest, failing;      /* the one with the most short processes, and the most failed ones */

    struct process processes[FACTS_TOP];
    uint32_t process_number[FACTS_TOP];
    size_t process_count;
    struct facts_thread threads[FACTS_TOP]; /* of multi-threaded processes */
    size_t thread_count;
    struct facts_event events[PROCESS_EVENTS_MAX];
    size_t event_count;
    uint64_t uncounted, countable; /* process images with a missing event count; all that should have been counted */
    uint64_t counted_late; /* process images whose counts start after exec and the loader */

    uint64_t oom_kills; /* processes that the kernel has killed because memory ran out, as agents reported */
    struct timeline timeline;
    const char *series_host; /* host of the series read last */
    enum facts_memory_source sampled_memory; /* the least reliable one of the job's series */
    struct job_metrics metrics;   /* metrics published by the job's programs */
    struct mpi mpi;     /* derived from them: MPI calls */
    struct syscall_stats calls; /* and system calls */
    struct syscall_stats_gap syscall_stats_gap;
    struct facts_text *strings; /* owns the strings above, except those of job */
};

/* Reads the facts of a job, whose strings must stay valid until facts_free. On error *facts is NULL. */
enum err facts_read(struct facts **facts, struct store *store, const struct store_job *job);
void facts_free(struct facts **facts);

/* Adds the numbers of an executable to a total. */
void facts_add_executable(struct summary_executable *rest, const struct summary_executable *more);

/* Derived numbers (analysis/figures.c); NAN if something they need is missing. */
double facts_duration_s(const struct facts *facts);
double facts_cpu_s(const struct facts *facts);         /* the kernel's total, or the sum over recorded processes if larger */
double facts_kernel_share(const struct facts *facts);  /* share of system time; NAN if known for less than half of the CPU time */
double facts_cores_allocated(const struct facts *facts); /* allocated cores, else all cores of the node */
double facts_cores_used(const struct facts *facts);    /* average */
double facts_cores_wanted(const struct facts *facts);  /* the same plus those that threads waited for, as far as known */
double facts_cores_of_other_processes(const struct facts *facts); /* average number of cores used by processes outside the job */
double facts_memory_limit(const struct facts *facts);  /* bytes; the limit, else all memory of the node */
double facts_memory_peak(const struct facts *facts);   /* bytes, of all processes together; else of the largest one */
enum facts_memory_source facts_memory_source(const struct facts *facts); /* of that peak */

/* Runs of the job that sonde run recorded, as opposed to those of agents; and those of them that exited with a status
 * other than 0 or were terminated by a signal. */
bool facts_is_recorded_run(const struct store_run *run);
bool facts_run_failed(const struct store_run *run);
size_t facts_run_count(const struct facts *facts);
size_t facts_runs_failed(const struct facts *facts);

/* The command exited with status 0, in all runs whose status is known. */
bool facts_succeeded(const struct facts *facts);

/* No process of the job was recorded: only agents reported the usage of its nodes and cgroups. */
bool facts_only_from_agents(const struct facts *facts);

/* The sources (enum process_source) of those processes of an executable that used most CPU time and so dominate its
 * totals. */
unsigned facts_executable_sources(const struct facts *facts, const struct summary_executable *executable);

/* Whether the I/O of an executable is known. Its totals have no flags of their own, but every dynamic program makes
 * read calls: the loader reads the libraries. */
bool facts_executable_has_io(const struct summary_executable *executable);

/* The sum of a counter over all processes. False: unknown. */
bool facts_sum(const struct facts *facts, enum counter counter, double *value);

/* Bytes of rchar, wchar, read_bytes or write_bytes, including processes whose final counters are missing (killed ones):
 * those come from samples. Excludes what the probe wrote itself. False: unknown. */
bool facts_io_bytes(const struct facts *facts, enum counter counter, double *bytes);

/* The counters of the processes account for nearly all of these bytes. */
bool facts_io_is_attributed(const struct facts *facts, enum counter counter);

/* Share of the CPU time whose processes reported how long they waited for a CPU; 0: none. Killed processes report
 * nothing. */
double facts_waiting_known_share(const struct facts *facts);

/* Time that threads waited for a CPU, as far as known; NAN if known for less than half of the job. */
double facts_waiting_s(const struct facts *facts);

/* waiting / (waiting + running) over all threads; NAN if the former is. */
double facts_run_queue_share(const struct facts *facts);

#endif
