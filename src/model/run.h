/* Everything that one run of a job left on one host, put together: what the store files. Owned by whoever made it. */
#ifndef SONDE_MODEL_RUN_H
#define SONDE_MODEL_RUN_H

#include "model/batch.h"
#include "model/process.h"

struct host {
    struct bytes name, kernel, cpu_model;
    uint64_t cores, memory_bytes;
};

/* Counters of trouble during a run: a hole is counted and reported, never hidden. */
struct run_gaps {
    uint64_t records_lost;   /* a probe could not write (disk full, …) */
    uint64_t bytes_damaged;  /* of the spool, skipped */
    uint64_t events_lost;    /* kernel messages that overflowed the socket */
    uint64_t ticks_late;
};

/* One series: the samples of one set and instance in the order of time. */
struct run_series {
    struct set set;      /* owned: names and metrics live in the run's arena */
    const char *instance;
    size_t count;
    uint64_t *times_ns;  /* count */
    union value *values; /* count x set.size, row after row */
    uint8_t *known;      /* count x set.size */
    uint64_t start_ns;   /* out of a store: when its run began; 0: not known */
    bool by_agent;       /* out of a store: an agent saw it, not a sonde run */
};

struct run {
    struct bytes id;            /* unique for ever: what makes filing it twice harmless */
    struct bytes job_id, name, user, command, cwd, tags; /* command: NUL after each word */
    uint32_t uid;
    struct host host;
    uint64_t start_ns, end_ns;
    bool ended;                 /* false: sonde run was killed; end_ns is the last thing seen */
    bool status_known;
    uint8_t exit_code, exit_signal;
    uint64_t cores_allowed_milli; /* 1000 = one core; 0: not known */
    uint64_t memory_limit_bytes;  /* 0: not known */
    uint64_t boot_ns;             /* when the host was booted; 0: not known */
    uint64_t period_ns;
    struct counters total;      /* the truth for the whole: getrusage of all children; CPU time at least that of processes;
                                 * rchar, wchar, read_bytes, write_bytes: as last sampled, at least those of processes */
    struct run_gaps gaps;

    struct bytes events[PROCESS_EVENTS_MAX]; /* perf event names */
    size_t event_count;

    struct process *processes;  /* in pre-order */
    size_t process_count;
    struct thread *threads;     /* of processes that had more than one; those of the first such process first, … */
    size_t thread_count;
    struct event_count *counts;
    size_t counts_count;
    struct run_series *series;
    size_t series_count;
};

#endif
