/* The jobs that jobs.c knows: those that run, those whose folder has appeared and of which too little is known yet, and
 * those that have ended while their folder is still there. For jobs.c and its parts alone. */
#ifndef SONDE_JOBS_JOB_TABLE_H
#define SONDE_JOBS_JOB_TABLE_H

#include "base/err.h"
#include "jobs/job_source.h"
#include "model/job.h"

#include <stddef.h>

#define JOB_TABLE_NAME_MAX (JOB_ID_MAX + JOB_SOURCE_NAME_MAX + 16)
#define JOB_TABLE_NO_SLOT UINT32_MAX

/* What an entry is found by. */
enum job_table_name { JOB_TABLE_KEY, JOB_TABLE_ID, JOB_TABLE_OTHER_ID, JOB_TABLE_NAMES };

struct job_entry {
    struct job job; /* what others see; its texts point into this entry */
    const struct job_source *source; /* NULL: told, and not in the tree */
    char key[JOB_TABLE_NAME_MAX]; /* how the tree knows it; "": it does not. This and the next two: see job_table_rename */
    char id[JOB_TABLE_NAME_MAX], other_id[JOB_TABLE_NAME_MAX];
    char user[JOB_SOURCE_NAME_MAX];
    char *cgroup; /* owned; NULL: none */
    bool is_declared; /* by somebody who will tell its end too */
    bool waits_for_id; /* the one that we know is the second */
    bool existed_before;    /* before we looked: when it began is to be found out */
    bool has_ended, ended_explicitly; /* it stays here until its folder goes */
    bool is_changed;  /* its steps are, or their tasks, and nobody was told yet */
    unsigned task_moves;   /* how often tasks of it were moved since the last round */
    uint32_t hierarchy_bits; /* a bit for each hierarchy in which its folder is */
    uint32_t seen_bits;    /* the same, as the scan that is under way has found */
    uint64_t steps, steps_seen; /* sums over the names of its steps, of the last scan and of this one */
    size_t steps_hierarchy;  /* the hierarchy in which its steps are watched */
    uint64_t inspect_at_ns, inspect_pause_ns; /* CLOCK_MONOTONIC: when to look at it again; 0: all is known */
    uint64_t empty_since_ns;            /* CLOCK_MONOTONIC; 0: there are processes */
    uint64_t pid_start_ns;              /* of job.pid: a pid is used again */
    size_t at;          /* in the list of all */
    struct job_entry *next[JOB_TABLE_NAMES]; /* in the bucket of each of its names */
};

struct job_table {
    struct job_entry **all; /* in no order */
    size_t count, capacity;
    struct job_entry **slots; /* those that run; NULL where a slot is free */
    size_t slot_capacity, running;
    size_t without_key; /* told, and not in the tree */
    struct job_entry **buckets[JOB_TABLE_NAMES];
    size_t bucket_count;
};

void job_table_clear(struct job_table *table);

/* A new entry of that key, which may be "". Not yet in a slot. NULL when memory ran out. */
struct job_entry *job_table_add(struct job_table *table, const char *key);
void job_table_remove(struct job_table *table, struct job_entry *entry); /* frees it */

/* Gives it another name, which is cut when it is too long. "": none. */
void job_table_rename(struct job_table *table, struct job_entry *entry, enum job_table_name kind, const char *name);

struct job_entry *job_table_find_key(const struct job_table *table, const char *key);

/* One that runs, or waits to be known better, by its id or its other id. */
struct job_entry *job_table_find_id(const struct job_table *table, const char *id);

/* The lowest free slot. NOMEM. */
enum err job_table_take_slot(struct job_table *table, struct job_entry *entry);
void job_table_free_slot(struct job_table *table, struct job_entry *entry);
struct job_entry *job_table_next(const struct job_table *table, size_t *slot); /* of those in slots; NULL behind the last */

#endif
