/* Which process was which: the records of a pid parted into lives, one per process that had the pid.
 * Rules and reasons: docs/merge.md. */
#ifndef SONDE_MERGE_PROCESS_INSTANCE_H
#define SONDE_MERGE_PROCESS_INSTANCE_H

#include "merge/record_index.h"

struct life {
    uint64_t first_ns;         /* the earliest that was said of it */
    uint64_t start_ns, end_ns; /* 0: not known */
    uint64_t first_child_ns;   /* when its first child was born, UINT64_MAX: never; set by merge/tree.c */
    uint32_t pid, ppid;        /* ppid 0: not known */
    uint32_t first, last;      /* its events, chained in the order of time */
    uint32_t kinds;            /* bit per record_kind of the whole process, not of a single thread */
    uint32_t wait;             /* event of the wait that ended it, NONE */
    uint32_t parent;           /* life, NONE: a root; set by merge/tree.c */
    uint32_t image, images;    /* in images.list; set by merge/process_image.c */
    uint32_t thread_events;    /* how many of its events are of other threads than the main one */
    bool ended;                /* somebody saw its end */
    bool is_empty;             /* it turned out to be another one: merge/pidns_init.c, or a thread: merge/tracer_waits.c */
    bool start_exact;          /* start_ns is that of the fork */
};

struct lives {
    struct life *list; /* those of one pid stand together, in the order of time */
    uint32_t count, room;
};

/* run_pid: of sonde run, whose own records are left out; 0: not known. */
enum err lives_find(struct lives *lives, struct events *events, uint32_t run_pid);
void lives_clear(struct lives *lives);

/* A process of which nothing is known but that somebody born at this time named it as parent. One for each pid. */
enum err lives_add_unseen(struct lives *lives, struct events *events, uint32_t pid, uint64_t time_ns, uint32_t *index);

/* The life of the pid that was under way at this time, NONE when there is none that could have been. */
uint32_t lives_at(const struct lives *lives, const struct events *events, uint32_t pid, uint64_t time_ns);

static inline bool life_has(const struct life *life, enum record_kind kind)
{
    return life->kinds >> kind & 1;
}

/* Nothing is known of it but that somebody waited for it. */
static inline bool life_is_wait_alone(const struct life *life)
{
    return !life->is_empty && life->kinds == 1u << RECORD_KIND_wait && !life->thread_events && life->wait != NONE;
}

#endif
