/* What the agent holds now: the newest sample of each set, instance and job. Filled at each tick, read by /metrics,
 * sonde ls and sonde top. */
#ifndef SONDE_MODEL_LATEST_H
#define SONDE_MODEL_LATEST_H

#include "model/batch.h"

/* One set of one instance of one job (or of the node). Sets are equal when their names and metrics are. */
struct latest_entry {
    const struct set *set;
    const char *instance; /* "" : there is but one */
    const char *job;      /* NULL: of the node */
    const union value *values;
    const uint8_t *known; /* set->size of them, 0 or 1 */
    uint64_t time_ns;     /* of the newest sample */
    uint64_t first_ns;    /* of the first */
    uint64_t updates;
    uint64_t period_ns;   /* of its sampler; 0: not known */
    const void *source;   /* from where it was taken last: of latest_update_from, NULL of latest_update */
};

struct latest;

enum err latest_open(struct latest **live);
void latest_close(struct latest **live);

/* Takes over what is new in batch. Allocates only for entries that were not there before. FULL: more than
 * LATEST_ENTRIES_MAX; those that fit are taken. */
#define LATEST_ENTRIES_MAX (1u << 20)
enum err latest_update(struct latest *live, const struct batch *batch, uint64_t period_ns);

/* The same, and remembers from where it came: any pointer that latest_drop_source is given later. An entry with another set of
 * the same name, of the same instance, job and source is replaced. */
enum err latest_update_from(struct latest *live, const struct batch *batch, uint64_t period_ns, const void *source);

/* The sets that batches point to may have been freed or made anew: forget their addresses. */
void latest_forget_addresses(struct latest *live);

/* The entries of a job that has ended. */
void latest_drop_job(struct latest *live, const char *job);

/* Source was read as a whole, and all of it taken since since_ns (CLOCK_MONOTONIC): what it did not give any more is over.
 * Costs next to nothing where that is nothing. */
void latest_drop_missing(struct latest *live, const void *source, uint64_t since_ns);

/* Source was read in part: what it gave before is as good as ever, and not stale. */
void latest_refresh_source(struct latest *live, const void *source);

/* Those that were taken from source; those that were not taken for so many of their periods, and at least_ns. */
void latest_drop_source(struct latest *live, const void *source);
void latest_drop_stale(struct latest *live, uint64_t periods, uint64_t at_least_ns);

/* All entries, those of one set in a row, sets in the order in which they came; *at is 0 at first. NULL at the end. */
const struct latest_entry *latest_next(const struct latest *live, size_t *at);
size_t latest_count(const struct latest *live);

#endif
