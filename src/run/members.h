/* Which processes belong to the job: descendants of the command, as the kernel's events tell. Ended ones are remembered
 * for a while, because other sources speak of them a little later. */
#ifndef SONDE_RUN_MEMBERS_H
#define SONDE_RUN_MEMBERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct member {
    uint32_t pid; /* 0: a free place */
    uint32_t ppid;
    uint32_t threads; /* alive; 0: it has ended */
    uint32_t threads_made;
    uint32_t uid;
    bool uid_known;
    bool dark; /* not known to carry the probe: what it executes has to be looked at while it is there */
    uint64_t start_ns; /* 0: not known */
    uint64_t rang_ns;  /* when the bell last rang for it; 0: never */
    uint64_t exec_ns;  /* when it last executed something; 0: never */
    uint64_t ended_ns;
};

struct members {
    struct member *places; /* a hash table with a power of two of places */
    size_t room, used, alive;
    size_t dark; /* of those that are alive */
};

void members_init(struct members *members);
void members_clear(struct members *members);

/* NULL when it never was one, or was forgotten. Valid until the next add or forget. */
struct member *members_find(const struct members *members, uint32_t pid);

/* A new process with one thread; takes the place of one that had the same pid before. NULL when memory ran out. */
struct member *members_add(struct members *members, uint32_t pid, uint32_t ppid);

/* One thread less; with the last the process has ended. */
void members_end_thread(struct members *members, struct member *member, uint64_t now_ns);

/* All its threads at once. */
void members_end(struct members *members, struct member *member, uint64_t now_ns);

/* Whether it carries the probe. */
void members_darken(struct members *members, struct member *member, bool dark);

/* It was one by pid only: somebody else has that pid now. */
void members_remove(struct members *members, uint32_t pid);

/* Forgets those that ended before. */
void members_forget(struct members *members, uint64_t before_ns);

/* Walks over all: *at is 0 at first. NULL at the end. */
struct member *members_next(const struct members *members, size_t *at);

#endif
