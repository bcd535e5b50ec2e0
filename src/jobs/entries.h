/* The jobs that jobs.c knows: those that run, those whose folder has appeared and of which too little is known yet, and
 * those that have ended while their folder is still there. For jobs.c and its parts alone. */
#ifndef SONDE_JOBS_ENTRIES_H
#define SONDE_JOBS_ENTRIES_H

#include "base/err.h"
#include "model/job.h"
#include "jobs/source.h"

#include <stddef.h>

#define ENTRIES_NAME_MAX (ID_MAX + SOURCE_NAME_MAX + 16)
#define ENTRIES_NO_SLOT UINT32_MAX

/* What an entry is found by. */
enum entries_name { ENTRIES_KEY, ENTRIES_ID, ENTRIES_OTHER_ID, ENTRIES_NAMES };

struct entry {
    struct job job; /* what others see; its texts point into this entry */
    const struct job_source *source; /* NULL: told, and not in the tree */
    char key[ENTRIES_NAME_MAX]; /* how the tree knows it; "": it does not. This and the next two: see entries_rename */
    char id[ENTRIES_NAME_MAX], other_id[ENTRIES_NAME_MAX];
    char user[SOURCE_NAME_MAX];
    char *cgroup; /* owned; NULL: none */
    bool is_told; /* by somebody who will tell its end too */
    bool waits_for_id; /* the one that we know is the second */
    bool was_there;    /* before we looked: when it began is to be found out */
    bool has_ended, ended_by_word; /* it stays here until its folder goes */
    bool is_changed;  /* its steps are, or their tasks, and nobody was told yet */
    unsigned moves;   /* how often tasks of it were moved since the last round */
    uint32_t folders; /* a bit for each hierarchy in which its folder is */
    uint32_t seen;    /* the same, as the scan that is under way has found */
    uint64_t steps, steps_seen; /* sums over the names of its steps, of the last scan and of this one */
    size_t steps_in;  /* the hierarchy in which its steps are watched */
    uint64_t look_at_ns, look_pause_ns; /* CLOCK_MONOTONIC: when to look at it again; 0: all is known */
    uint64_t empty_since_ns;            /* CLOCK_MONOTONIC; 0: there are processes */
    uint64_t pid_start_ns;              /* of job.pid: a pid is used again */
    size_t at;          /* in the list of all */
    struct entry *next[ENTRIES_NAMES]; /* in the bucket of each of its names */
};

struct entries {
    struct entry **all; /* in no order */
    size_t count, room;
    struct entry **slots; /* those that run; NULL where a slot is free */
    size_t slot_room, running;
    size_t without_key; /* told, and not in the tree */
    struct entry **buckets[ENTRIES_NAMES];
    size_t bucket_count;
};

void entries_clear(struct entries *entries);

/* A new entry of that key, which may be "". Not yet in a slot. NULL when memory ran out. */
struct entry *entries_add(struct entries *entries, const char *key);
void entries_remove(struct entries *entries, struct entry *entry); /* frees it */

/* Gives it another name, which is cut when it is too long. "": none. */
void entries_rename(struct entries *entries, struct entry *entry, enum entries_name kind, const char *name);

struct entry *entries_find_key(const struct entries *entries, const char *key);

/* One that runs, or waits to be known better, by its id or its other id. */
struct entry *entries_find_id(const struct entries *entries, const char *id);

/* The lowest free slot. NOMEM. */
enum err entries_take_slot(struct entries *entries, struct entry *entry);
void entries_free_slot(struct entries *entries, struct entry *entry);
struct entry *entries_next(const struct entries *entries, size_t *slot); /* of those in slots; NULL behind the last */

#endif
