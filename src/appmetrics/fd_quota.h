/* Something of which there is so much and no more, as descriptors, and how much of it each user holds: nobody takes more than is
 * left for the others, so that one user alone has half of it, whoever comes next half of the rest. */
#ifndef SONDE_APPMETRICS_FD_QUOTA_H
#define SONDE_APPMETRICS_FD_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fd_quota_user;

struct fd_quota {
    size_t max, taken;
    struct fd_quota_user *owners; /* few, and none is forgotten */
};

/* Of this part of the descriptors that the process may have. */
void fd_quota_init(struct fd_quota *share, double part);
void fd_quota_clear(struct fd_quota *share);

/* May this user have one more? False too where memory ran out. */
bool fd_quota_allows(struct fd_quota *share, uint32_t uid);

/* Is there one for somebody who is not bounded? */
bool fd_quota_has_left(const struct fd_quota *share);

void fd_quota_take(struct fd_quota *share, uint32_t uid);
void fd_quota_return(struct fd_quota *share, uint32_t uid);

#endif
