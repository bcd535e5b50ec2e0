/* Configuration of the agent's uplink: collectors, keys, encryption, and the journal in which samples wait. */
#ifndef SONDE_AGENT_UPLINK_CONFIG_H
#define SONDE_AGENT_UPLINK_CONFIG_H

#include "base/buf.h"
#include "transport/uplink.h"

struct uplink_config {
    char *collectors[UPLINK_COLLECTORS_MAX + 1];     /* "tcp://login1:5555"; none: nothing is sent */
    char *collector_keys[UPLINK_COLLECTORS_MAX + 1]; /* one for all of them, or one for each; a key or a file */
    size_t collector_count, key_count;
    char *key, *spool;                      /* NULL: the defaults */
    uint64_t journal_bytes, journal_age_ns; /* 0: the defaults */
    bool plain, plain_network, munge;
};

#define UPLINK_CONFIG_JOURNAL_AGE_NS (7 * 24 * 3600 * NS_PER_S)

/* The keys, NULL at the end: collector, collector-key, key, plain, ... */
extern const char *const uplink_config_keys[];
bool uplink_config_has(const char *key);

/* key is one of them. collector and collector-key add one each; "none" removes all. USAGE: error has a message. */
enum err uplink_config_set(struct uplink_config *config, const char *key, const char *value, struct buf *error);

/* Checks for conflicts: nothing must be sent unencrypted over a network by mistake. */
enum err uplink_config_check(const struct uplink_config *config, struct buf *error);

/* Checks that the required keys can be read, for callers that do not open the uplink (which checks them, too). */
enum err uplink_config_check_keys(const struct uplink_config *config, struct buf *error);

/* The configured paths or the defaults. ABSENT: no default, because the user is not root and has no home directory. */
enum err uplink_config_key_path(const struct uplink_config *config, char *path, size_t size);
enum err uplink_config_journal_dir(const struct uplink_config *config, char *path, size_t size);

bool uplink_config_equal(const struct uplink_config *a, const struct uplink_config *b);
enum err uplink_config_copy(struct uplink_config *copy, const struct uplink_config *config);
void uplink_config_clear(struct uplink_config *config);
void uplink_config_write(struct buf *out, const struct uplink_config *config); /* as lines of the configuration file */

#endif
