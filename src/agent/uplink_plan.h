/* Where the agent's samples go over the network, and how they wait: the part of the plan that is about collectors. */
#ifndef SONDE_AGENT_UPLINK_PLAN_H
#define SONDE_AGENT_UPLINK_PLAN_H

#include "base/buf.h"
#include "transport/uplink.h"

struct uplink_plan {
    char *collectors[UPLINK_COLLECTORS_MAX + 1]; /* "tcp://login1:5555"; none: nothing is sent */
    char *collector_keys[UPLINK_COLLECTORS_MAX + 1]; /* one for all of them, or one for each; a key or a file */
    size_t collector_count, key_count;
    char *key, *spool; /* NULL: the usual ones */
    uint64_t spool_bytes, spool_age_ns; /* 0: the usual ones */
    bool plain, plain_network, munge;
};

#define UPLINK_PLAN_SPOOL_AGE_NS (7 * 24 * 3600 * NS_PER_S)

/* The names, NULL at the end: collector, collector-key, key, plain, … */
extern const char *const uplink_plan_keys[];
bool uplink_plan_has(const char *key);

/* key is one of them. collector and collector-key add one each; "none" takes all away. USAGE: why says what is wrong. */
enum err uplink_plan_set(struct uplink_plan *plan, const char *key, const char *value, struct buf *why);

/* Does it make sense as a whole? Nothing goes unencrypted over a network by mistake. */
enum err uplink_plan_check(const struct uplink_plan *plan, struct buf *why);

/* Can the keys be read that it needs? Asked by whoever does not open the uplink, which asks the same. */
enum err uplink_plan_check_keys(const struct uplink_plan *plan, struct buf *why);

/* The usual places, filled in. ABSENT: there are none, as neither root nor a user with a home has. */
enum err uplink_plan_key(const struct uplink_plan *plan, char *path, size_t size);
enum err uplink_plan_spool(const struct uplink_plan *plan, char *path, size_t size);

bool uplink_plan_equal(const struct uplink_plan *a, const struct uplink_plan *b);
enum err uplink_plan_copy(struct uplink_plan *copy, const struct uplink_plan *plan);
void uplink_plan_clear(struct uplink_plan *plan);
void uplink_plan_write(struct buf *out, const struct uplink_plan *plan); /* as lines of the configuration */

#endif
