/* The job table: running jobs, jobs whose cgroup has appeared but of which too little is known yet, and ended jobs
 * whose cgroup still exists. Internal to jobs.c and its parts. */
#ifndef SONDE_JOBS_JOB_TABLE_H
#define SONDE_JOBS_JOB_TABLE_H

#include "base/err.h"
#include "jobs/job_source.h"
#include "model/job.h"

#include <stddef.h>

#define JOB_TABLE_NAME_MAX (JOB_ID_MAX + JOB_SOURCE_NAME_MAX + 16)
#define JOB_TABLE_NO_SLOT UINT32_MAX

/* The keys of the index. */
enum job_table_name { JOB_TABLE_KEY, JOB_TABLE_ID, JOB_TABLE_OTHER_ID, JOB_TABLE_NAMES };

struct job_entry {
    struct job job; /* the public view; its strings point into this entry */
    const struct job_source *source; /* NULL: declared and not in the cgroup tree */
    char key[JOB_TABLE_NAME_MAX]; /* identifies it in the cgroup tree; "": not there. Change this and the next two with
                                   * job_table_rename */
    char id[JOB_TABLE_NAME_MAX], other_id[JOB_TABLE_NAME_MAX];
    char user[JOB_SOURCE_NAME_MAX];
    char *cgroup; /* owned; NULL: none */
    bool is_declared; /* declared: its end will be reported too */
    bool waits_for_id; /* only its secondary id is known so far */
    bool existed_before;    /* it existed when we started: its start time must be found out */
    bool has_ended; /* its end was reported; it stays until its cgroup is removed */
    bool is_changed;  /* its steps or tasks changed and the listener was not notified yet */
    unsigned task_moves;   /* times that its tasks were moved since the last round */
    uint32_t hierarchy_bits; /* one bit per hierarchy that has its cgroup */
    uint32_t seen_bits;    /* the same as found by the current scan */
    uint64_t steps, steps_seen; /* hash sums over the names of its steps, of the last scan and this one */
    size_t steps_hierarchy;  /* the hierarchy in which its steps are watched */
    uint64_t inspect_at_ns, inspect_pause_ns; /* CLOCK_MONOTONIC: next inspection, 0: everything is known; and the pause
                                               * before it */
    uint64_t pid_start_ns;              /* start of job.pid, because pids are reused */
    size_t at;          /* index in all */
    struct job_entry *next[JOB_TABLE_NAMES]; /* next in the bucket of each name */
};

struct job_table {
    struct job_entry **all; /* unordered */
    size_t count, capacity;
    struct job_entry **slots; /* running jobs; NULL: the slot is free */
    size_t slot_capacity, running;
    size_t without_key; /* declared and not in the cgroup tree */
    struct job_entry **buckets[JOB_TABLE_NAMES];
    size_t bucket_count;
};

void job_table_clear(struct job_table *table);

/* Adds an entry with a key, which may be "". It has no slot yet. NULL: no memory. */
struct job_entry *job_table_add(struct job_table *table, const char *key);
void job_table_remove(struct job_table *table, struct job_entry *entry); /* frees it */

/* Changes a name; too long ones are truncated. "": none. */
void job_table_rename(struct job_table *table, struct job_entry *entry, enum job_table_name kind, const char *name);

struct job_entry *job_table_find_key(const struct job_table *table, const char *key);

/* Finds a job that has not ended by its id or other id. */
struct job_entry *job_table_find_id(const struct job_table *table, const char *id);

/* Assigns the lowest free slot. NOMEM. */
enum err job_table_take_slot(struct job_table *table, struct job_entry *entry);
void job_table_free_slot(struct job_table *table, struct job_entry *entry);
/* iterates over running jobs; NULL at the end */
struct job_entry *job_table_next(const struct job_table *table, size_t *slot);

#endif
