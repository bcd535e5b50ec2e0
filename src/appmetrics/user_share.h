/* Something of which there is so much and no more, as descriptors, and how much of it each user holds: nobody takes more than is
 * left for the others, so that one user alone has half of it, whoever comes next half of the rest. */
#ifndef SONDE_APPMETRICS_USER_SHARE_H
#define SONDE_APPMETRICS_USER_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct user_share_owner;

struct user_share {
    size_t max, taken;
    struct user_share_owner *owners; /* few, and none is forgotten */
};

/* Of this part of the descriptors that the process may have. */
void user_share_init(struct user_share *share, double part);
void user_share_clear(struct user_share *share);

/* May this user have one more? False too where memory ran out. */
bool user_share_has(struct user_share *share, uint32_t uid);

/* Is there one for somebody who is not bounded? */
bool user_share_is_left(const struct user_share *share);

void user_share_take(struct user_share *share, uint32_t uid);
void user_share_give(struct user_share *share, uint32_t uid);

#endif
