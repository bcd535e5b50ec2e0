/* A list, which is looked through: a node has few users. */
#include "appmetrics/fd_quota.h"

#include <stdlib.h>
#include <sys/resource.h>

struct fd_quota_user {
    uint32_t uid;
    size_t count;
    struct fd_quota_user *next;
};

void fd_quota_init(struct fd_quota *share, double part)
{
    struct rlimit limit;
    *share = (struct fd_quota){ .max = SIZE_MAX };
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        share->max = (size_t)((double)limit.rlim_cur * part);
}

void fd_quota_clear(struct fd_quota *share)
{
    for (struct fd_quota_user *owner = share->owners, *next; owner; owner = next) {
        next = owner->next;
        free(owner);
    }
    *share = (struct fd_quota){ 0 };
}

/* NULL: memory ran out. */
static struct fd_quota_user *owner_of(struct fd_quota *share, uint32_t uid)
{
    struct fd_quota_user *owner = share->owners;
    while (owner && owner->uid != uid)
        owner = owner->next;
    if (owner || !(owner = calloc(1, sizeof *owner)))
        return owner;
    *owner = (struct fd_quota_user){ .uid = uid, .next = share->owners };
    share->owners = owner;
    return owner;
}

static size_t left(const struct fd_quota *share)
{
    return share->max > share->taken ? share->max - share->taken : 0;
}

bool fd_quota_allows(struct fd_quota *share, uint32_t uid)
{
    const struct fd_quota_user *owner = owner_of(share, uid);
    return owner && owner->count < left(share);
}

bool fd_quota_has_left(const struct fd_quota *share)
{
    return left(share) > 0;
}

void fd_quota_take(struct fd_quota *share, uint32_t uid)
{
    struct fd_quota_user *owner = owner_of(share, uid);
    if (owner)
        owner->count++;
    share->taken++;
}

void fd_quota_return(struct fd_quota *share, uint32_t uid)
{
    struct fd_quota_user *owner = owner_of(share, uid);
    if (owner && owner->count)
        owner->count--;
    share->taken--;
}
