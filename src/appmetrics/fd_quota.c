/* A linear list: a node has few users. */
#include "appmetrics/fd_quota.h"

#include <sys/resource.h>

void fd_quota_init(struct fd_quota *quota, double share)
{
    struct rlimit limit;
    *quota = (struct fd_quota){ .max = SIZE_MAX };
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        quota->max = (size_t)((double)limit.rlim_cur * share);
}

void fd_quota_clear(struct fd_quota *quota)
{
    vec_clear(&quota->users);
    *quota = (struct fd_quota){ 0 };
}

/* NULL: no memory. */
static struct fd_quota_user *find_user(struct fd_quota *quota, uint32_t uid)
{
    size_t i = 0;
    while (i < quota->users.count && quota->users.items[i].uid != uid)
        i++;
    if (i == quota->users.count && vec_push(&quota->users, VEC_MAX, (struct fd_quota_user){ .uid = uid }))
        return NULL;
    return &quota->users.items[i];
}

static size_t left(const struct fd_quota *quota)
{
    return quota->max > quota->taken ? quota->max - quota->taken : 0;
}

bool fd_quota_allows(struct fd_quota *quota, uint32_t uid)
{
    const struct fd_quota_user *user = find_user(quota, uid);
    return user && user->count < left(quota);
}

bool fd_quota_has_left(const struct fd_quota *quota)
{
    return left(quota) > 0;
}

void fd_quota_take(struct fd_quota *quota, uint32_t uid)
{
    struct fd_quota_user *user = find_user(quota, uid);
    if (user)
        user->count++;
    quota->taken++;
}

void fd_quota_return(struct fd_quota *quota, uint32_t uid)
{
    struct fd_quota_user *user = find_user(quota, uid);
    if (user && user->count)
        user->count--;
    quota->taken--;
}
