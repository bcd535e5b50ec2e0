/* What is known of one job, gathered from the store in a few calls whose cost does not grow with the number of its
 * processes (save where there are perf events, whose holes are counted): what the rules judge and what the report shows. Unknown
 * numbers are NAN, or false in the bit beside them. */
#ifndef SONDE_ANALYSIS_FACTS_H
#define SONDE_ANALYSIS_FACTS_H

#include "analysis/syscalls.h"
#include "analysis/mpi.h"
#include "analysis/timeline.h"
#include "store/runs.h"

#define FACTS_TOP 10 /* executables, processes and threads that are kept: those that used most CPU time */

struct facts_thread {
    uint32_t process; /* its number in the job */
    char name[17];
    struct thread thread;
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
    size_t executables_all;
    struct summary_executable rest;                   /* sums of those not kept; no name */
    struct summary_executable shortest, failing;      /* with the most short processes, the most that failed */

    struct process processes[FACTS_TOP];
    uint32_t process_number[FACTS_TOP];
    size_t process_count;
    struct facts_thread threads[FACTS_TOP]; /* of processes with several */
    size_t thread_count;
    struct facts_event events[PROCESS_EVENTS_MAX];
    size_t event_count;
    uint64_t uncounted, countable; /* programs without a count of an event; all that were to be counted */
    uint64_t counted_late; /* of those that have counts: without what their exec and the loader did */

    struct shape shape;
    const char *series_host; /* of the series read last */
    struct told told;   /* what programs told of themselves */
    struct mpi mpi;     /* … of it, their MPI calls */
    struct calls calls; /* … and their system calls */
    struct calls_gap calls_gap;
    struct facts_text *texts; /* what the texts above point into, save those of job */
};

/* Reads all of it. The job's texts are borrowed until facts_free. On an error *facts is NULL. */
enum err facts_read(struct facts **facts, struct store *store, const struct store_job *job);
void facts_free(struct facts **facts);

/* Adds the numbers of an executable to those of others. */
void facts_add_executable(struct summary_executable *rest, const struct summary_executable *more);

/* Derived numbers (analysis/figures.c); NAN when something they need is not known. */
double facts_duration_s(const struct facts *facts);
double facts_cpu_s(const struct facts *facts);         /* the kernel's total; the sum of what was seen if more */
double facts_kernel_share(const struct facts *facts);  /* of it, by who told; NAN when that is less than half of it */
double facts_cores_allowed(const struct facts *facts); /* else all cores of the machine */
double facts_cores_used(const struct facts *facts);    /* on average */
double facts_cores_wanted(const struct facts *facts);  /* the same and those that threads waited for, as far as known */
double facts_cores_of_others(const struct facts *facts); /* of the machine, busy with other work, on average */
double facts_memory_limit(const struct facts *facts);  /* bytes; else all memory of the machine */
double facts_memory_peak(const struct facts *facts);   /* bytes, of all processes together; else of the largest one */
bool facts_memory_is_of_one(const struct facts *facts);  /* the peak is the largest process, and there were others beside it */

/* Of its runs those that sonde run watched, not those of agents; and of these the ones that ended with another status than
 * 0, or by a signal. */
bool facts_is_watched(const struct store_run *run);
bool facts_run_failed(const struct store_run *run);
size_t facts_run_count(const struct facts *facts);
size_t facts_runs_failed(const struct facts *facts);

/* The command ended with status 0, in each of its runs whose status is known. */
bool facts_ended_well(const struct facts *facts);

/* No process of it was watched: agents tell what its nodes and its cgroup used. */
bool facts_by_agents(const struct facts *facts);

/* The sources (enum process_source) of those processes of an executable that used most: what matters to its sum is among
 * them. */
unsigned facts_executable_sources(const struct facts *facts, const struct summary_executable *executable);

/* Somebody told of its I/O. Its sums have no bits of their own, but a program without any read call is hardly there: the loader
 * reads the libraries. */
bool facts_executable_has_io(const struct summary_executable *executable);

/* A counter of all processes together. False: not known. */
bool facts_sum(const struct facts *facts, enum counter counter, double *value);

/* Bytes of rchar, wchar, read_bytes or write_bytes, of those processes too that could not tell, as who was killed: the samples
 * had them; without what the probe wrote in their name. False: not known. */
bool facts_moved(const struct facts *facts, enum counter counter, double *bytes);

/* The processes have told of nearly all of these bytes. */
bool facts_moved_is_told(const struct facts *facts, enum counter counter);

/* Whose waiting for a CPU is known, by their share of the CPU time; 0: nobody's. Who is killed does not tell. */
double facts_waiting_told_share(const struct facts *facts);

/* For a CPU, of all threads as far as known; NAN when that is of less than half of the job. */
double facts_waiting_s(const struct facts *facts);

/* waiting / (waiting + running) of all threads, NAN when the former is. */
double facts_run_queue_share(const struct facts *facts);

#endif
