/* A limited number of file descriptors, shared by users: nobody gets more than are left for the others, so that one
 * user alone can have half of them, the next one half of the rest. */
#ifndef SONDE_APPMETRICS_FD_QUOTA_H
#define SONDE_APPMETRICS_FD_QUOTA_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fd_quota_user {
    uint32_t uid;
    size_t count;
};

struct fd_quota {
    size_t max, taken;
    VEC(struct fd_quota_user) users; /* few, and never removed */
};

/* share: fraction of RLIMIT_NOFILE, 0 to 1. */
void fd_quota_init(struct fd_quota *quota, double share);
void fd_quota_clear(struct fd_quota *quota);

/* May this user have one more? False also without memory. */
bool fd_quota_allows(struct fd_quota *quota, uint32_t uid);

/* Is a descriptor left for a user without a limit? */
bool fd_quota_has_left(const struct fd_quota *quota);

void fd_quota_take(struct fd_quota *quota, uint32_t uid);
void fd_quota_return(struct fd_quota *quota, uint32_t uid);

#endif
