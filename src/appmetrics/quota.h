/* How many metrics each user may have, and which unused ones are evicted when there is no capacity left.
 *
 * Owners (the users of a node, and one shared owner for everything that is not of a single user) share a number of places.
 * An entry takes one or more places of its owner; a metric of ordinary size takes one. While anything uses an entry it
 * stays. Unused it is idle: it still shows what was counted, until somebody needs its places.
 *
 * - A user may use as many places as are left for everybody else: one user alone gets half of all, the next one half of
 *   the rest. Nobody can lock the others out.
 * - The oldest idle entry of the owner with most idle places is evicted first, so that a program that creates one metric
 *   after another evicts its own.
 *
 * This layer only counts. It knows neither metrics nor scopes; whoever evicts an entry calls quota_remove. */
#ifndef SONDE_APPMETRICS_QUOTA_H
#define SONDE_APPMETRICS_QUOTA_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct quota_entry {
    struct quota_owner *owner;
    size_t places, uses;            /* uses 0: idle */
    TAILQ_ENTRY(quota_entry) idle;
};

struct quota_owner {
    bool is_limited;                /* a user */
    size_t in_use, idle;            /* places of its entries */
    size_t job_places;              /* of the values of its jobs: see quota_take_value */
    TAILQ_HEAD(, quota_entry) idle_entries; /* oldest first */
    LIST_ENTRY(quota_owner) link;
};

struct quota {
    size_t max, in_use, idle;       /* places */
    struct quota_owner shared;
    LIST_HEAD(, quota_owner) users; /* few, and never removed */
};

void quota_init(struct quota *quota, size_t max);
void quota_add_user(struct quota *quota, struct quota_owner *user); /* zeroed; borrowed as long as the quota is used */

/* May the owner use this many more places? */
bool quota_allows(const struct quota *quota, const struct quota_owner *owner, size_t places);

/* The entry to evict before this many places can be added; NULL: none has to be, or (quota_is_full) none is idle. */
struct quota_entry *quota_eviction(const struct quota *quota, size_t places);
bool quota_is_full(const struct quota *quota, size_t places);

/* A new entry, in use once. */
void quota_add(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner, size_t places);

/* Of an idle entry. */
void quota_remove(struct quota *quota, struct quota_entry *entry);

void quota_use(struct quota *quota, struct quota_entry *entry);
void quota_release(struct quota *quota, struct quota_entry *entry);

/* Somebody else wants to use the entry: an idle one becomes theirs. FULL: they may not use so many places. */
enum err quota_claim(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner);

/* A metric has a value in each job that uses it. The jobs of an owner may together have as many values as if two of
 * them had all metrics that there can be. False: they have. */
bool quota_take_value(const struct quota *quota, struct quota_owner *owner, size_t places);
void quota_return_value(struct quota_owner *owner, size_t places);

#endif
