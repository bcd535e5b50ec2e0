/* What the agent holds now: the newest sample of each set, instance and job. Filled at each tick, read by /metrics,
 * sonde ls and sonde top. */
#ifndef SONDE_MODEL_LIVE_H
#define SONDE_MODEL_LIVE_H

#include "model/batch.h"

/* One set of one instance of one job (or of the node). Sets are equal when their names and metrics are. */
struct live_entry {
    const struct set *set;
    const char *instance; /* "" : there is but one */
    const char *job;      /* NULL: of the node */
    const union value *values;
    const uint8_t *known; /* set->size of them, 0 or 1 */
    uint64_t time_ns;     /* of the newest sample */
    uint64_t first_ns;    /* of the first */
    uint64_t updates;
    uint64_t period_ns;   /* of its sampler; 0: not known */
    const void *source;   /* from where it was taken last: of live_take_from, NULL of live_take */
};

struct live;

enum err live_open(struct live **live);
void live_close(struct live **live);

/* Takes over what is new in batch. Allocates only for entries that were not there before. FULL: more than
 * LIVE_ENTRIES_MAX; those that fit are taken. */
#define LIVE_ENTRIES_MAX (1u << 20)
enum err live_take(struct live *live, const struct batch *batch, uint64_t period_ns);

/* The same, and remembers from where it came: any pointer that live_drop_source is given later. An entry with another set of
 * the same name, of the same instance, job and source is replaced. */
enum err live_take_from(struct live *live, const struct batch *batch, uint64_t period_ns, const void *source);

/* The sets that batches point to may have been freed or made anew: forget their addresses. */
void live_forget_addresses(struct live *live);

/* The entries of a job that has ended. */
void live_drop_job(struct live *live, const char *job);

/* Source was read as a whole, and all of it taken since since_ns (CLOCK_MONOTONIC): what it did not give any more is over.
 * Costs next to nothing where that is nothing. */
void live_drop_unread(struct live *live, const void *source, uint64_t since_ns);

/* Source was read in part: what it gave before is as good as ever, and not stale. */
void live_keep_source(struct live *live, const void *source);

/* Those that were taken from source; those that were not taken for so many of their periods, and at least_ns. */
void live_drop_source(struct live *live, const void *source);
void live_drop_stale(struct live *live, uint64_t periods, uint64_t at_least_ns);

/* All entries, those of one set in a row, sets in the order in which they came; *at is 0 at first. NULL at the end. */
const struct live_entry *live_next(const struct live *live, size_t *at);
size_t live_count(const struct live *live);

#endif
