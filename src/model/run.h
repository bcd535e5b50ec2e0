/* Everything that was recorded of one run on one host, as merge/ produces it and the job database saves it. */
#ifndef SONDE_MODEL_RUN_H
#define SONDE_MODEL_RUN_H

#include "model/batch.h"
#include "model/process.h"

struct host {
    struct bytes name, kernel, cpu_model;
    uint64_t cores, memory_bytes;
};

/* Lost data of a run: gaps are counted and reported, never hidden. */
struct run_gaps {
    uint64_t records_lost;   /* could not be written (disk full, …) */
    uint64_t bytes_damaged;  /* of the spool, skipped */
    uint64_t events_lost;    /* kernel messages that overflowed the socket */
    uint64_t ticks_late;
};

/* A series: the samples of one set and instance, by time. */
struct run_series {
    struct set set;      /* names and metrics are in the arena of the run */
    const char *instance;
    size_t count;
    uint64_t *times_ns;  /* count */
    union value *values; /* count x set.size, by row */
    uint8_t *known;      /* count x set.size */
    uint64_t start_ns;   /* from a database: start of its run; 0: unknown */
    bool by_agent;       /* from a database: recorded by an agent, not by sonde run */
};

struct run {
    struct bytes id;            /* globally unique, so that saving a run twice does no harm */
    struct bytes job_id, name, user, command, cwd, tags; /* command: NUL after each argument */
    uint32_t uid;
    struct host host;
    uint64_t start_ns, end_ns;
    bool ended;                 /* false: sonde run was killed; end_ns is the time of the last record */
    bool status_known;
    uint8_t exit_code, exit_signal;
    uint64_t cores_allowed_milli; /* 1000 is one core; 0: unknown */
    uint64_t memory_limit_bytes;  /* 0: unknown */
    uint64_t boot_ns;             /* boot time of the host; 0: unknown */
    uint64_t period_ns;
    struct counters total;      /* of all processes: getrusage of the children, CPU time at least the sum of processes;
                                 * rchar, wchar, read_bytes, write_bytes: last sample, at least the sum of processes */
    struct run_gaps gaps;

    struct bytes events[PROCESS_EVENTS_MAX]; /* perf event names */
    size_t event_count;

    struct process *processes;  /* in pre-order */
    size_t process_count;
    struct thread *threads;     /* of processes with more than one, in the order of processes */
    size_t thread_count;
    struct event_count *counts;
    size_t counts_count;
    struct run_series *series;
    size_t series_count;
};

#endif
