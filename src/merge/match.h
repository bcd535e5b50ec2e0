/* Does a record belong to the life that is under way, to the one before it, or does it begin another one? */
#ifndef SONDE_MERGE_MATCH_H
#define SONDE_MERGE_MATCH_H

#include "merge/process_instance.h"

/* What is known of a life while its pid's records are walked through in the order of time. */
struct tale {
    uint32_t life;     /* its place in the list; NONE: there is no such life */
    uint32_t kinds;    /* as in struct life */
    uint32_t ppid;     /* 0: not known */
    uint64_t first_ns, last_ns;
    uint64_t ticks;    /* 0: not known */
    uint64_t wait_ns;  /* when it was reaped; 0: not yet */
    struct bytes wait; /* the body of that record */
    int64_t threads;   /* alive, as far as the kernel told */
    bool main_exited;  /* the kernel told that its main thread ended, */
    bool exited;       /* and the last of the others */
    bool task_told;    /* the main thread's exit record was seen */
};

enum fit { SAME, ANEW, BEFORE };

struct fitting {
    const struct events *events;
    const uint32_t *order; /* the events of the pid in the order of time */
    uint32_t at, count;    /* the one to decide on, and how many there are */
    uint32_t run_pid;
    struct event_numbers numbers; /* of the event to decide on, where its kind has more than a time */
    struct tale now, before;
};

enum fit fit_event(const struct fitting *fitting);

#endif
