/* Decides to which process instance a record of a pid belongs: the current one, the previous one, or a new one. */
#ifndef SONDE_MERGE_MATCH_H
#define SONDE_MERGE_MATCH_H

#include "merge/process_instance.h"

/* What is known about a process instance while the records of its pid are read in order of time. */
struct match_candidate {
    uint32_t instance; /* index in process_instances.list; NONE if there is no such instance */
    uint32_t kinds;    /* as in struct process_instance */
    uint32_t ppid;     /* 0: unknown */
    uint64_t first_ns, last_ns;
    uint64_t ticks;          /* start_ticks; 0: unknown */
    uint64_t wait_ns;        /* when it was reaped; 0: not yet */
    struct bytes wait;       /* body of that wait record */
    int64_t threads;         /* running threads, according to the kernel's fork and exit events */
    bool main_exited;        /* the kernel reported the exit of the main thread */
    bool exited;             /* the kernel reported the exit of all threads */
    bool has_main_taskstats; /* the main thread's taskstats record was read */
};

enum match_result { MATCH_CURRENT, MATCH_NEW, MATCH_PREVIOUS };

struct match_state {
    const struct record_index *records;
    const uint32_t *order; /* the records of this pid in order of time */
    uint32_t at, count;    /* index in order of the record to decide on; length of order */
    uint32_t run_pid;
    struct record_numbers numbers; /* of that record, for the kinds listed in needs_numbers() */
    struct match_candidate current, previous;
};

enum match_result match_record(const struct match_state *match);

#endif
