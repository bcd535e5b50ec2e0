/* The processes of the job: descendants of the command, as reported by kernel events. Ended ones are kept for a
 * while, because other sources report them a little later. */
#ifndef SONDE_RUN_MEMBERS_H
#define SONDE_RUN_MEMBERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_member {
    uint32_t pid; /* 0: a free entry */
    uint32_t ppid;
    uint32_t threads; /* alive; 0: the process has ended */
    uint32_t threads_created;
    uint32_t uid;
    bool uid_known;
    bool is_unprobed; /* without the probe, or not known yet (unprobed.h): its execs are read from /proc */
    uint64_t start_ns; /* 0: unknown */
    uint64_t notice_ns;  /* time of the last notice about it; 0: never */
    uint64_t exec_ns;  /* time of its last exec; 0: never */
    uint64_t ended_ns;
};

struct run_members {
    struct run_member *entries; /* hash table; the capacity is a power of two */
    size_t capacity, used, alive;
    size_t unprobed_count; /* number of live unprobed members */
};

void members_init(struct run_members *members);
void members_clear(struct run_members *members);

/* NULL: not a member, or already forgotten. Valid until the next add or forget. */
struct run_member *members_find(const struct run_members *members, uint32_t pid);

/* Adds a process with one thread; replaces an earlier one with the same pid. NULL: out of memory. */
struct run_member *members_add(struct run_members *members, uint32_t pid, uint32_t ppid);

/* One thread less; the process has ended with the last one. */
void members_end_thread(struct run_members *members, struct run_member *member, uint64_t now_ns);

/* Ends all its threads at once. */
void members_end(struct run_members *members, struct run_member *member, uint64_t now_ns);

/* Sets whether it has the probe. */
void members_set_unprobed(struct run_members *members, struct run_member *member, bool is_unprobed);

/* The pid has been reused by an unrelated process. */
void members_remove(struct run_members *members, uint32_t pid);

/* Removes those that ended before this time. */
void members_forget(struct run_members *members, uint64_t before_ns);

/* Iterates over all: start with *at = 0. NULL at the end. */
struct run_member *members_next(const struct run_members *members, size_t *at);

#endif
