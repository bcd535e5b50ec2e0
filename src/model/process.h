/* A process image and its threads, as the job database stores them. */
#ifndef SONDE_MODEL_PROCESS_H
#define SONDE_MODEL_PROCESS_H

#include "base/buf.h"
#include "model/counters.h"

#define PROCESS_EVENTS_MAX 32 /* perf events of one run */
#define PROCESS_NO_PARENT UINT32_MAX

/* Where the data of a process came from; a set of flags. */
enum process_source {
    SEEN_PROBE = 1,     /* it had the probe, or was about to get it */
    SEEN_WAIT = 2,      /* its parent or sonde run waited for it */
    SEEN_CONNECTOR = 4, /* events of the proc connector */
    SEEN_TASKSTATS = 8, /* exit record of taskstats */
    SEEN_PARENT = 16,   /* the probe in the process that executed or spawned it */
    SEEN_PROC = 32,     /* read from /proc while it ran */
    SEEN_CHILD = 64,    /* only known as the parent of another process */
    /* Quality of the data instead of its source: */
    USAGE_ESTIMATED = 128,   /* part of its CPU time is an estimated share of a sum over its family */
    USAGE_WITH_OTHERS = 256, /* its counters include children or earlier images that could not be separated */
    EVENTS_LATE = 512, /* its perf counts begin when the probe was loaded, after exec and the dynamic loader */
};

enum process_state {
    PROCESS_ENDED = 0,
    PROCESS_EXECED = 1,  /* the process executed another image */
    PROCESS_RUNNING = 2, /* still running at the end of the job: counters until then */
    PROCESS_LOST = 3,    /* its end was not recorded: counters as last read */
};

/* Perf counts of one thread, scaled for multiplexing. */
struct event_count {
    uint64_t known; /* bit i: value[i] is known; i as in run.events */
    uint64_t value[PROCESS_EVENTS_MAX];
};

struct thread {
    uint64_t start_ns, end_ns; /* 0: unknown */
    uint32_t tid;
    char name[16]; /* no NUL if 16 characters long */
    struct counters counters;
    uint32_t events; /* index in run.counts; UINT32_MAX: none */
};

struct process {
    uint32_t pid, ppid, pgid, sid, uid;
    bool pgid_known, sid_known, uid_known;
    uint32_t image;                /* 0 for the first image of the pid, 1 after an exec, … */
    uint32_t parent;               /* index in run.processes; PROCESS_NO_PARENT: a root */
    uint32_t last;                 /* index of its last descendant (processes are in pre-order) */
    uint32_t thread_first, thread_count; /* in run.threads if there are several; a single thread is the process itself */
    uint64_t start_ns, end_ns;     /* 0: unknown */
    enum process_state state;
    bool status_known;
    uint8_t exit_code, exit_signal; /* one of them is 0 */
    unsigned sources;              /* enum process_source */
    struct bytes path, args, cwd, tags; /* path: absolute; args: NUL after each */
    struct bytes name;             /* of the executable: last part of path, else the kernel's comm */
    struct counters counters;      /* of all its threads, without children */
    uint32_t events;               /* index in run.counts; UINT32_MAX: none */
    uint64_t inclusive_cpu_us;     /* includes all descendants */
};

/* Number of threads: those recorded, or the count from /proc if that is larger. */
static inline uint64_t process_threads(const struct process *process)
{
    uint64_t recorded = process->thread_count ? process->thread_count : 1;
    uint64_t counted = counters_get(&process->counters, COUNTER_num_threads);
    return counted > recorded ? counted : recorded;
}

#endif
