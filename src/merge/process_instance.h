/* Process instances: the records of each pid, split into one group per process that used the pid. Rules and reasons:
 * docs/merge.md. */
#ifndef SONDE_MERGE_PROCESS_INSTANCE_H
#define SONDE_MERGE_PROCESS_INSTANCE_H

#include "merge/record_index.h"

struct process_instance {
    uint64_t first_ns; /* time of its first record */
    uint64_t start_ns, end_ns; /* 0: unknown */
    uint64_t first_child_ns; /* start of its first child, UINT64_MAX if it has none; set by merge/tree.c */
    uint32_t pid, ppid; /* ppid 0: unknown */
    uint32_t first, last; /* its records, chained in order of time */
    uint32_t kinds; /* bit mask of record kinds about the process, not about single threads */
    uint32_t wait; /* the wait record of its exit; NONE */
    uint32_t parent; /* process instance; NONE for a root; set by merge/tree.c */
    uint32_t first_image, image_count; /* in process_images.list; set by merge/process_image.c */
    uint32_t thread_records; /* number of its records about non-main threads */
    bool ended; /* some record reports its exit */
    bool is_empty; /* turned out to be a duplicate (merge/pidns_init.c) or a thread (merge/tracer_waits.c) */
    bool has_exact_start; /* start_ns is the time of the fork */
};

struct process_instances {
    struct process_instance *list; /* those of one pid are contiguous and ordered by time */
    uint32_t count, capacity;
};

/* run_pid: pid of sonde run, whose own records are skipped; 0 if unknown. */
enum err process_instances_find(struct process_instances *instances, struct record_index *records, uint32_t run_pid);
void process_instances_clear(struct process_instances *instances);

/* Adds a process known only because a child that started at this time names it as parent. One per pid. */
enum err process_instances_add_unrecorded(struct process_instances *instances, struct record_index *records,
                                          uint32_t pid, uint64_t time_ns, uint32_t *index);

/* The instance that used the pid at this time; NONE if no known instance can have. */
uint32_t process_instance_at(const struct process_instances *instances, const struct record_index *records,
                             uint32_t pid, uint64_t time_ns);

static inline bool process_instance_has(const struct process_instance *instance, enum record_kind kind)
{
    return instance->kinds >> kind & 1;
}

/* Its only record is a wait. */
static inline bool process_instance_is_wait_only(const struct process_instance *instance)
{
    return !instance->is_empty && instance->kinds == 1u << RECORD_KIND_wait
           && !instance->thread_records && instance->wait != NONE;
}

#endif
