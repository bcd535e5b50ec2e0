/* A list, which is looked through: a node has few users. */
#include "appmetrics/user_share.h"

#include <stdlib.h>
#include <sys/resource.h>

struct user_share_owner {
    uint32_t uid;
    size_t count;
    struct user_share_owner *next;
};

void user_share_init(struct user_share *share, double part)
{
    struct rlimit limit;
    *share = (struct user_share){ .max = SIZE_MAX };
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        share->max = (size_t)((double)limit.rlim_cur * part);
}

void user_share_clear(struct user_share *share)
{
    for (struct user_share_owner *owner = share->owners, *next; owner; owner = next) {
        next = owner->next;
        free(owner);
    }
    *share = (struct user_share){ 0 };
}

/* NULL: memory ran out. */
static struct user_share_owner *owner_of(struct user_share *share, uint32_t uid)
{
    struct user_share_owner *owner = share->owners;
    while (owner && owner->uid != uid)
        owner = owner->next;
    if (owner || !(owner = calloc(1, sizeof *owner)))
        return owner;
    *owner = (struct user_share_owner){ .uid = uid, .next = share->owners };
    share->owners = owner;
    return owner;
}

static size_t left(const struct user_share *share)
{
    return share->max > share->taken ? share->max - share->taken : 0;
}

bool user_share_has(struct user_share *share, uint32_t uid)
{
    const struct user_share_owner *owner = owner_of(share, uid);
    return owner && owner->count < left(share);
}

bool user_share_is_left(const struct user_share *share)
{
    return left(share) > 0;
}

void user_share_take(struct user_share *share, uint32_t uid)
{
    struct user_share_owner *owner = owner_of(share, uid);
    if (owner)
        owner->count++;
    share->taken++;
}

void user_share_give(struct user_share *share, uint32_t uid)
{
    struct user_share_owner *owner = owner_of(share, uid);
    if (owner && owner->count)
        owner->count--;
    share->taken--;
}
