/* The latest sample of each set, instance and job. The agent updates it at each tick; /metrics, sonde ls and sonde top read
 * it. */
#ifndef SONDE_MODEL_LATEST_H
#define SONDE_MODEL_LATEST_H

#include "model/batch.h"

/* The latest sample of a set, instance and job (or node). Sets are equal if their names and metrics are. */
struct latest_entry {
    const struct set *set;
    const char *instance; /* "": the set has only one */
    const char *job;      /* NULL: the node */
    const union value *values;
    const uint8_t *known; /* set->size values, 0 or 1 */
    uint64_t time_ns;     /* of the latest sample */
    uint64_t first_ns;    /* of the first sample */
    uint64_t updates;
    uint64_t period_ns;   /* sampling interval; 0: unknown */
    uint64_t read_ns;     /* how long reading its sensor took; 0: unknown */
    const void *source;   /* argument of latest_update_from; NULL: latest_update */
};

struct latest;

enum err latest_open(struct latest **live);
void latest_close(struct latest **live);

/* Copies the samples of a batch. Allocates only for new entries. FULL: more than LATEST_ENTRIES_MAX entries; those that fit
 * are stored. */
#define LATEST_ENTRIES_MAX (1u << 20)
enum err latest_update(struct latest *live, const struct batch *batch, uint64_t period_ns);

/* The same, with a pointer that identifies the source. Replaces an entry of the same source, instance and job whose set has the
 * same name and other metrics. */
enum err latest_update_from(struct latest *live, const struct batch *batch, uint64_t period_ns, const void *source);

/* To be called when sets of earlier batches may have been freed: their addresses are compared no more. */
void latest_forget_addresses(struct latest *live);

/* Drops the entries of a job that has ended. */
void latest_drop_job(struct latest *live, const char *job);

/* Drops the entries of a source that were not updated since since_ns (CLOCK_MONOTONIC), after all of its samples were. Cheap
 * if there are none. */
void latest_drop_missing(struct latest *live, const void *source, uint64_t since_ns);

/* The source returned only part of its samples: its other entries are not stale. */
void latest_refresh_source(struct latest *live, const void *source);

/* Drops all entries of a source; those that were not updated for this many of their intervals, and at least this long. */
void latest_drop_source(struct latest *live, const void *source);
void latest_drop_stale(struct latest *live, uint64_t periods, uint64_t at_least_ns);

/* Iterates over all entries, grouped by set in the order of first appearance; *at begins with 0. NULL: end. */
const struct latest_entry *latest_next(const struct latest *live, size_t *at);
size_t latest_count(const struct latest *live);

#endif
