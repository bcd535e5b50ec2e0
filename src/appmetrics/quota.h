/* How many metrics each user may have, and which unused ones are evicted when all slots are taken.
 *
 * Terms: a slot is the unit of the limit. An entry is one metric; it takes one slot, or more if it is large
 * (metric_table_slots). An owner is a user of the node, or the shared owner of metrics that belong to no single user. An
 * entry with a use_count above 0 is in use and cannot be evicted. One with 0 is idle: its values are still served, until
 * its slots are needed.
 *
 * - A user may have at most as many slots in use as are left for everybody else: one user alone gets half of all, the
 *   next one half of the rest. Nobody can lock the others out.
 * - The oldest idle entry of the owner with the most idle slots is evicted first, so that a program that creates one
 *   metric after another evicts its own.
 *
 * This layer only counts. It knows neither metrics nor scopes; the code that evicts an entry calls quota_remove. */
#ifndef SONDE_APPMETRICS_QUOTA_H
#define SONDE_APPMETRICS_QUOTA_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct quota_entry {
    struct quota_owner *owner;
    size_t slots;                   /* that it takes */
    size_t use_count;               /* programs, cells of jobs and aliases that use the metric; 0: idle */
    TAILQ_ENTRY(quota_entry) idle;  /* in quota_owner.idle_entries */
};

struct quota_owner {
    bool is_limited;                /* a user; false: the shared owner */
    size_t in_use, idle;            /* slots of its entries, by state */
    size_t job_slots;               /* slots taken by the values in its jobs: see quota_take_value */
    TAILQ_HEAD(, quota_entry) idle_entries; /* oldest first */
    LIST_ENTRY(quota_owner) link;
};

struct quota {
    size_t max, in_use, idle;       /* slots of all owners; in_use + idle <= max */
    struct quota_owner shared;      /* owner of metrics that belong to no single user */
    LIST_HEAD(, quota_owner) users; /* few, and never removed */
};

void quota_init(struct quota *quota, size_t max);
void quota_add_user(struct quota *quota, struct quota_owner *user); /* user: zeroed; borrowed by the quota */

/* May the owner use this many more slots? */
bool quota_allows(const struct quota *quota, const struct quota_owner *owner, size_t slots);

/* The entry to evict before this many slots can be added. NULL: nothing has to be evicted, or nothing is idle; then
 * quota_is_full. */
struct quota_entry *quota_eviction(const struct quota *quota, size_t slots);
bool quota_is_full(const struct quota *quota, size_t slots);

/* Adds a new entry with a use_count of 1. */
void quota_add(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner, size_t slots);

/* Removes an idle entry. */
void quota_remove(struct quota *quota, struct quota_entry *entry);

/* Increments and decrements use_count. */
void quota_use(struct quota *quota, struct quota_entry *entry);
void quota_release(struct quota *quota, struct quota_entry *entry);

/* Call before another owner uses the entry: an idle entry becomes that owner's. FULL: over the owner's limit. */
enum err quota_claim(struct quota *quota, struct quota_entry *entry, struct quota_owner *owner);

/* A metric has a value in each job that uses it, and each value takes the slots of its metric. The values in all jobs of
 * one owner are limited to 2 * quota.max slots. False: the limit is reached. */
bool quota_take_value(const struct quota *quota, struct quota_owner *owner, size_t slots);
void quota_return_value(struct quota_owner *owner, size_t slots);

#endif
