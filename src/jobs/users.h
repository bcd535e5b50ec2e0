/* Names of users by their numbers, and the other way. A directory service may take seconds to answer, so that is asked in
 * a thread of its own and nobody waits for it. */
#ifndef SONDE_JOBS_USERS_H
#define SONDE_JOBS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct users {
    const char *root; /* borrowed; other than "": /etc/passwd below it is all that is asked */
    struct user **list;
    size_t count, capacity;
};

void users_init(struct users *users, const char *root);
void users_clear(struct users *users);

/* "": not known, or not yet; in the second case *later is set. Borrowed until users_clear. */
const char *users_name(struct users *users, uint32_t uid, bool *is_pending);

/* UINT32_MAX: not known, or not yet. */
uint32_t users_uid(struct users *users, const char *name, bool *is_pending);

#endif
