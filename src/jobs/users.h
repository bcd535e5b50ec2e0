/* Looks up user names by uid and vice versa. A directory service may take seconds to answer, so it is queried in a
 * thread and nobody waits for it. */
#ifndef SONDE_JOBS_USERS_H
#define SONDE_JOBS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct users {
    const char *root; /* borrowed; if not "", only /etc/passwd below it is used */
    struct user **list;
    size_t count, capacity;
};

void users_init(struct users *users, const char *root);
void users_clear(struct users *users);

/* "": unknown, or not known yet: then *is_pending is set. Borrowed until users_clear. */
const char *users_name(struct users *users, uint32_t uid, bool *is_pending);

/* UINT32_MAX: unknown, or not known yet. */
uint32_t users_uid(struct users *users, const char *name, bool *is_pending);

#endif
