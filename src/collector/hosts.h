/* The hosts that samples came from, each with what is known of it: when it was heard, how far its clock is off, what is
 * missing. They stay when a host falls silent, so that it is shown as such; the file "hosts" beside the journal keeps them
 * over a restart. */
#ifndef SONDE_COLLECTOR_HOSTS_H
#define SONDE_COLLECTOR_HOSTS_H

#include "base/buf.h"

#define ORIGINS_MAX 1000000u
#define ORIGIN_SILENT_NS (30 * 1000000000ull) /* without a word for so long it is silent, or for three of its intervals */

struct feed;
struct peer;

struct origin {
    char *host;
    uint32_t hash;
    struct origin *next; /* in its bucket */
    struct feed *feeds;  /* the streams through which it comes now */
    struct feed *newest; /* the one that a record came through last; NULL: none now */
    struct peer *owners[2]; /* the connections of its agent and of its collector; NULL: none */

    uint64_t first_ns;          /* CLOCK_REALTIME, when it was heard first */
    uint64_t heard_ns;          /* and last */
    uint64_t sample_ns;         /* of its newest sample, by its own clock; 0: none */
    uint64_t interval_ns;       /* between its two newest records; 0: not known */
    int64_t ahead_ns;           /* its clock is ahead of ours by so much */
    bool ahead_known;
    uint64_t records, samples, bytes; /* taken, since the start of the collector */
    uint64_t doubles;           /* records that were there already */
    uint64_t missing;           /* records that were jumped over and have not come since */
    uint64_t lost;              /* records that it says are gone, or that could not be read */
    uint64_t gap_from_ns, gap_to_ns; /* of the newest gap; 0: none, or not known */
    char gap_reason[64];
};

struct origins {
    struct origin **buckets;
    size_t bucket_count, count;
};

enum err origins_init(struct origins *origins);
void origins_clear(struct origins *origins);

/* FULL, NOMEM. Valid until origins_clear. */
enum err origins_get(struct origins *origins, struct bytes host, struct origin **origin);
struct origin *origins_find(const struct origins *origins, struct bytes host); /* NULL: it is not known */

/* In any order; *at is 0 at first, NULL at the end. Nothing may be added meanwhile. */
struct origin_at {
    size_t bucket;
    struct origin *origin;
};
struct origin *origins_next(const struct origins *origins, struct origin_at *at);

/* All of them, by name; the caller frees the list. NULL: memory ran out. */
struct origin **origins_sorted(const struct origins *origins);

bool origin_is_silent(const struct origin *origin, uint64_t now_ns);

/* What is known over a restart: one line for each host. Both give up silently but for what they return. */
enum err origins_save(const struct origins *origins, const char *path);
enum err origins_load(struct origins *origins, const char *path);

#endif
