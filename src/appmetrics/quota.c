/* Counts slots, and keeps a list of idle entries for each owner. */
#include "appmetrics/quota.h"

void quota_init(struct quota *quota, size_t max)
{
    *quota = (struct quota){ .max = max };
    TAILQ_INIT(&quota->shared.idle_entries);
    LIST_INIT(&quota->users);
}

void quota_add_user(struct quota *quota, struct quota_owner *user)
{
    user->is_limited = true;
    TAILQ_INIT(&user->idle_entries);
    LIST_INSERT_HEAD(&quota->users, user, link);
}

bool quota_allows(const struct quota *quota, const struct quota_owner *owner, size_t slots)
{
    size_t left = quota->max > quota->in_use ? quota->max - quota->in_use : 0;
    return (owner->is_limited ? owner->in_use : 0) + slots <= left;
}

bool quota_is_full(const struct quota *quota, size_t slots)
{
    return quota->in_use + quota->idle + slots > quota->max;
}

struct quota_entry *quota_eviction(const struct quota *quota, size_t slots)
{
    const struct quota_owner *most = &quota->shared, *user;
    if (!quota_is_full(quota, slots))
        return NULL;
    LIST_FOREACH(user, &quota->users, link)
        if (user->idle > most->idle)
            most = user;
    return TAILQ_FIRST(&most->idle_entries);
}

static void count_idle(struct quota *quota, struct quota_entry *entry)
{
    TAILQ_INSERT_TAIL(&entry->owner->idle_entries, entry, idle);
    entry->owner->idle += entry->slots;
    quota->idle += entry->slots;
}

void quota_remove(struct quota *quota, struct quota_entry *entry)
{
    TAILQ_REMOVE(&entry->owner->idle_entries, entry, idle);
    entry->owner->idle -= entry->slots;
    quota->idle -= entry->slots;
}

static void count_in_use(struct quota *quota, struct quota_entry *entry)
{
    entry->owner->in_use += entry->slots;
    quota->in_use += entry->slots;
}

void quota_add(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner, size_t slots)
{
    *entry = (struct quota_entry){ .owner = owner, .slots = slots, .use_count = 1 };
    count_in_use(quota, entry);
}

void quota_use(struct quota *quota, struct quota_entry *entry)
{
    if (entry->use_count++ > 0)
        return;
    quota_remove(quota, entry);
    count_in_use(quota, entry);
}

void quota_release(struct quota *quota, struct quota_entry *entry)
{
    if (--entry->use_count > 0)
        return;
    entry->owner->in_use -= entry->slots;
    quota->in_use -= entry->slots;
    count_idle(quota, entry);
}

enum err quota_claim(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner)
{
    if (entry->use_count)
        return OK;
    if (!quota_allows(quota, owner, entry->slots))
        return FULL;
    quota_remove(quota, entry);
    entry->owner = owner;
    count_idle(quota, entry);
    return OK;
}

bool quota_take_value(const struct quota *quota, struct quota_owner *owner, size_t slots)
{
    if (owner->job_slots / 2 >= quota->max)
        return false;
    owner->job_slots += slots;
    return true;
}

void quota_return_value(struct quota_owner *owner, size_t slots)
{
    owner->job_slots -= slots;
}
