/* A finished process image and its threads, as the store keeps them. */
#ifndef SONDE_MODEL_PROCESS_H
#define SONDE_MODEL_PROCESS_H

#include "base/buf.h"
#include "model/counters.h"

#define PROCESS_EVENTS_MAX 32 /* perf events of one run */
#define PROCESS_NO_PARENT UINT32_MAX

/* Where the knowledge of a process came from; a set. */
enum process_source {
    SEEN_PROBE = 1,     /* the preloaded library was in it, or was about to be */
    SEEN_WAIT = 2,      /* its parent, or sonde run, reaped it */
    SEEN_CONNECTOR = 4, /* the proc connector told of it */
    SEEN_TASKSTATS = 8, /* the kernel's exit record */
    SEEN_PARENT = 16,   /* the probe in the process that exec'd or spawned it */
    SEEN_PROC = 32,     /* read from /proc while it ran */
    SEEN_CHILD = 64,    /* nobody saw it, but a child of it named it as its parent */
    /* Not whence, but how well the numbers are known: */
    USAGE_ESTIMATED = 128,   /* part of its CPU time is its share of what only the sum of its family shows */
    USAGE_WITH_OTHERS = 256, /* its numbers hold those of children or of earlier images that nobody could tell apart */
    EVENTS_LATE = 512, /* its perf counts begin when the probe came up, behind its exec and the loader */
};

enum process_state {
    PROCESS_ENDED = 0,
    PROCESS_EXECED = 1,  /* this image ended because the pid exec'd another one */
    PROCESS_RUNNING = 2, /* still alive when the job's end was recorded: the numbers are those until then */
    PROCESS_LOST = 3,    /* it ended unseen: the numbers are what was seen last */
};

/* A perf count of one thread. Value is already corrected for multiplexing. */
struct event_count {
    uint64_t known; /* bit i: value[i] is known; i as in run.events */
    uint64_t value[PROCESS_EVENTS_MAX];
};

struct thread {
    uint64_t start_ns, end_ns; /* 0: not known */
    uint32_t tid;
    char name[16]; /* not terminated when 16 long */
    struct counters counters;
    uint32_t events; /* index in run.counts, UINT32_MAX: none */
};

struct process {
    uint32_t pid, ppid, pgid, sid, uid;
    bool pgid_known, sid_known, uid_known;
    uint32_t image;                /* 0 for the first image of the pid, 1 after an exec, … */
    uint32_t parent;               /* index of the parent in run.processes, PROCESS_NO_PARENT for a root */
    uint32_t last;                 /* index of its last descendant; processes stand in pre-order, so they are self..last */
    uint32_t thread_first, thread_count; /* more than one: in run.threads; a single one is the process itself */
    uint64_t start_ns, end_ns;     /* 0: not known */
    enum process_state state;
    bool status_known;
    uint8_t exit_code, exit_signal; /* one of them 0 */
    unsigned sources;              /* enum process_source */
    struct bytes path, args, cwd, tags; /* path: absolute; args: NUL after each */
    struct bytes name;             /* the executable's name: last part of path, else the kernel's comm */
    struct counters counters;      /* its own: all its threads, without children */
    uint32_t events;               /* index in run.counts, UINT32_MAX: none */
    uint64_t inclusive_cpu_us;     /* with all descendants */
};

/* How many threads it had: those that were told of, or that /proc counted where nobody told. */
static inline uint64_t process_threads(const struct process *process)
{
    uint64_t told = process->thread_count ? process->thread_count : 1;
    uint64_t counted = counters_get(&process->counters, COUNTER_num_threads);
    return counted > told ? counted : told;
}

#endif
