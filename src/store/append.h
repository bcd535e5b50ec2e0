/* What is filed while it goes on: jobs that run, series that grow. A collector's sink calls these between grow_begin and
 * grow_commit; what one transaction filed is there whole or not at all. */
#ifndef SONDE_STORE_APPEND_H
#define SONDE_STORE_APPEND_H

#include "base/ranges.h"
#include "model/job.h"
#include "store/store.h"

struct statement;

/* A transaction. */
struct grow {
    struct store *store;
    struct statement *chunk, *filed; /* many of each are filed */
    struct buf data;
};

/* Takes the lock of the one who writes, and waits for it. */
enum err grow_begin(struct grow *grow, struct store *store);
enum err grow_commit(struct grow *grow);
void grow_roll_back(struct grow *grow);

/* A job on a host, or (job NULL) the host itself. */
struct grow_run {
    const char *host;
    const struct job *job;
    uint64_t start_ns, end_ns; /* of a node: of its first and newest sample */
    uint64_t period_ns;
    struct counters total;     /* what the kernel says of all of it */
    uint64_t memory_peak_bytes;
    uint64_t lost;             /* batches in gaps while it ran */
};

/* The rows of a run: made, or brought up to date; so is its job. *job is 0 for a node. */
enum err grow_run(struct grow *grow, const struct grow_run *run, int64_t *job, int64_t *row);

/* Where a series goes on: its number in the run, and the row of its set. */
struct grow_track {
    int64_t number, set;
};
enum err grow_track(struct grow *grow, int64_t run, const struct set *set, const char *instance, struct grow_track *track);

/* One more chunk of all rows of series, at most SERIES_CHUNK_ROWS. Its number is the time of its first row, but for the
 * lowest 8 bits, which are salt: so that two collectors that file the same series do not meet. */
enum err grow_chunk(struct grow *grow, int64_t job, int64_t run, const struct grow_track *track,
                    const struct run_series *series, uint8_t salt);

/* Counts the transactions that filed streams. *before: how many there were before this one; who finds as many as its own
 * last one left knows that nobody else has filed anything since. */
enum err grow_count(struct grow *grow, uint64_t *before);

/* What is filed of a stream, whoever did it. Between grow_begin and grow_commit nobody adds to it. */
enum err grow_filed_read(struct store *store, const char *host, uint64_t stream, struct ranges *filed);

/* Range of the stream is filed now as well; *filed, as it was read, gets it too. */
enum err grow_filed_write(struct grow *grow, const char *host, uint64_t stream, struct range range, struct ranges *filed);

/* How far a collector of that name had come with a stream while each kept its own account (schema 2); 0: nothing of it. */
enum err grow_old_stream(struct store *store, const char *source, const char *host, uint64_t stream, uint64_t *sequence);

struct batch_gap;
enum err grow_gap(struct grow *grow, const char *host, const struct batch_gap *gap);

#endif
