/* The hosts that samples came from, each with its state: last contact, clock difference, missing records. They are kept
 * when a host is silent, so that it is shown as such, and saved over a restart in the file "hosts" beside the journal. */
#ifndef SONDE_COLLECTOR_KNOWN_HOSTS_H
#define SONDE_COLLECTOR_KNOWN_HOSTS_H

#include "base/buf.h"

#include "base/map.h"

#define KNOWN_HOSTS_MAX 1000000u
#define KNOWN_HOST_SILENT_NS (30 * 1000000000ull) /* silent if nothing was received for this long, or for three of
                                                   * its intervals */

struct feed;
struct peer;

struct known_host {
    char *host;
    struct feed *feeds;          /* the streams through which its records arrive now */
    struct feed *newest;         /* the stream of the last record; NULL: none now */
    struct peer *connections[2]; /* connections of its agent and of its collector; NULL: none */

    uint64_t first_ns;         /* CLOCK_REALTIME of the first message */
    uint64_t last_received_ns; /* and of the last one */
    uint64_t sample_ns;        /* time of its newest sample, by its own clock; 0: none */
    uint64_t interval_ns;      /* between its two newest records; 0: unknown */
    int64_t clock_ahead_ns;    /* how much its clock is ahead of ours */
    bool has_clock_ahead;
    uint64_t records, samples, bytes; /* received since the start of the collector */
    uint64_t duplicates;              /* records that were already in the journal */
    uint64_t missing;                 /* records that were skipped and have not arrived since */
    uint64_t lost;                    /* records that it reported as lost, or that could not be decoded */
    uint64_t gap_from_ns, gap_to_ns;  /* of the newest gap; 0: none, or unknown */
    char gap_reason[64];
};

struct known_hosts { /* begins with zeros */
    struct map map;
};

void known_hosts_clear(struct known_hosts *known_hosts);

/* Finds or adds a host. FULL, NOMEM. Valid until known_hosts_clear. */
/* May a host have this name? The same rule for agents, Kafka and Colmet's nodes. */
bool known_hosts_is_name(struct bytes name);
enum err known_hosts_get(struct known_hosts *known_hosts, struct bytes host, struct known_host **known_host);
struct known_host *known_hosts_find(const struct known_hosts *known_hosts, struct bytes host); /* NULL: unknown */

/* In any order; start with a zeroed iterator; NULL at the end. Nothing may be added meanwhile. */
struct known_host *known_hosts_next(const struct known_hosts *known_hosts, struct map_iterator *at);

/* All hosts by name; the caller frees the list. NULL if out of memory. */
struct known_host **known_hosts_sorted(const struct known_hosts *known_hosts);

bool known_host_is_silent(const struct known_host *known_host, uint64_t now_ns);

/* One line per host. Nothing is logged; see the result. */
enum err known_hosts_save(const struct known_hosts *known_hosts, const char *path);
enum err known_hosts_load(struct known_hosts *known_hosts, const char *path);

#endif
