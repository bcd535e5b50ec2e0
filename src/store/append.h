/* Saving while data is still arriving: jobs that run, series that grow. A collector's sink calls these between
 * append_begin and append_commit; a transaction is saved completely or not at all. */
#ifndef SONDE_STORE_APPEND_H
#define SONDE_STORE_APPEND_H

#include "base/ranges.h"
#include "model/job.h"
#include "store/store.h"

struct statement;

/* A transaction. */
struct append {
    struct store *store;
    struct statement *chunk, *saved; /* prepared once, because they are executed often */
    struct buf data;
};

/* Starts a transaction that writes; waits for other writers. */
enum err append_begin(struct append *append, struct store *store);
enum err append_commit(struct append *append);
void append_roll_back(struct append *append);

/* A job on a host, or (job NULL) the host itself. */
struct append_run {
    const char *host;
    const struct job *job;
    uint64_t start_ns, end_ns; /* for a node: its first and newest sample */
    uint64_t period_ns;
    struct counters total;     /* of the whole job on that host, from the kernel */
    uint64_t memory_peak_bytes;
    uint64_t lost;             /* batches in gaps while it ran */
};

/* Inserts or updates the row of a run and its job. *job is 0 for a node. */
enum err append_run(struct append *append, const struct append_run *run, int64_t *job, int64_t *row);

/* A series to append to: its number in the run, and the row of its set. */
struct append_track {
    int64_t number, set;
};
enum err append_track(struct append *append, int64_t run, const struct set *set, const char *instance,
                      struct append_track *track);

/* Appends a chunk with all rows of series, at most SERIES_CHUNK_ROWS. The chunk's number is the time of its first row
 * with the lowest 8 bits replaced by salt, so that two collectors that save the same series do not collide. */
enum err append_chunk(struct append *append, int64_t job, int64_t run, const struct append_track *track,
                      const struct run_series *series, uint8_t salt);

/* Counts transactions that saved streams. *before: their number before this one; if it equals what our own last
 * transaction left, no one else has saved anything since. */
enum err append_count(struct append *append, uint64_t *before);

/* The sequences of a stream that are saved, by any collector. Between append_begin and append_commit no one else can
 * add to them. */
enum err append_read_saved(struct store *store, const char *host, uint64_t stream, struct ranges *saved);

/* Adds a range to the saved sequences of the stream, and to *saved as it was read. */
enum err append_add_saved(struct append *append, const char *host, uint64_t stream, struct range range, struct ranges *saved);

/* The last sequence saved by a collector of that name, from schema 2, where each collector kept its own; 0: none. */
enum err append_read_old_sequence(struct store *store, const char *source, const char *host, uint64_t stream,
                                  uint64_t *sequence);

struct batch_gap;
enum err append_gap(struct append *append, const char *host, const struct batch_gap *gap);

#endif
