/* Counters, and for each owner a list of its idle entries. */
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

bool quota_allows(const struct quota *quota, const struct quota_owner *owner, size_t places)
{
    size_t left = quota->max > quota->in_use ? quota->max - quota->in_use : 0;
    return (owner->is_limited ? owner->in_use : 0) + places <= left;
}

bool quota_is_full(const struct quota *quota, size_t places)
{
    return quota->in_use + quota->idle + places > quota->max;
}

struct quota_entry *quota_eviction(const struct quota *quota, size_t places)
{
    const struct quota_owner *most = &quota->shared, *user;
    if (!quota_is_full(quota, places))
        return NULL;
    LIST_FOREACH(user, &quota->users, link)
        if (user->idle > most->idle)
            most = user;
    return TAILQ_FIRST(&most->idle_entries);
}

static void count_idle(struct quota *quota, struct quota_entry *entry)
{
    TAILQ_INSERT_TAIL(&entry->owner->idle_entries, entry, idle);
    entry->owner->idle += entry->places;
    quota->idle += entry->places;
}

void quota_remove(struct quota *quota, struct quota_entry *entry)
{
    TAILQ_REMOVE(&entry->owner->idle_entries, entry, idle);
    entry->owner->idle -= entry->places;
    quota->idle -= entry->places;
}

static void count_in_use(struct quota *quota, struct quota_entry *entry)
{
    entry->owner->in_use += entry->places;
    quota->in_use += entry->places;
}

void quota_add(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner, size_t places)
{
    *entry = (struct quota_entry){ .owner = owner, .places = places, .uses = 1 };
    count_in_use(quota, entry);
}

void quota_use(struct quota *quota, struct quota_entry *entry)
{
    if (entry->uses++ > 0)
        return;
    quota_remove(quota, entry);
    count_in_use(quota, entry);
}

void quota_release(struct quota *quota, struct quota_entry *entry)
{
    if (--entry->uses > 0)
        return;
    entry->owner->in_use -= entry->places;
    quota->in_use -= entry->places;
    count_idle(quota, entry);
}

enum err quota_claim(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner)
{
    if (entry->uses)
        return OK;
    if (!quota_allows(quota, owner, entry->places))
        return FULL;
    quota_remove(quota, entry);
    entry->owner = owner;
    count_idle(quota, entry);
    return OK;
}

bool quota_take_value(const struct quota *quota, struct quota_owner *owner, size_t places)
{
    if (owner->job_places / 2 >= quota->max)
        return false;
    owner->job_places += places;
    return true;
}

void quota_return_value(struct quota_owner *owner, size_t places)
{
    owner->job_places -= places;
}
