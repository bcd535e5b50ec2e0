/* Which batches of each stream the sink `store` has saved or buffered, so that a batch that several collectors
 * receive is saved once. The database decides, within the transaction that saves. */
#ifndef SONDE_SINKS_STORE_STREAMS_H
#define SONDE_SINKS_STORE_STREAMS_H

#include "base/ranges.h"
#include "model/batch.h"
#include "store/append.h"

#define STORE_STREAMS_NONE SIZE_MAX /* for a batch without sequence number */

struct store_stream {
    char *host;
    uint64_t stream;
    uint64_t old;         /* everything up to here was saved by versions that counted per collector */
    struct ranges saved;  /* as last read from the database, and what was saved here since */
    struct ranges after;  /* new value of saved if the current transaction commits */
    struct ranges buffered;  /* not saved yet */
    uint64_t checked;     /* round in which saved was read */
};

struct store_streams {
    struct store_stream *list;
    size_t count, capacity, last;
    uint64_t round; /* incremented when another collector has saved something */
    uint64_t count_left; /* of append_count: what our last transaction has left there; 0: none has */
    uint64_t count_now;  /* database counter in the current transaction */
};

void store_streams_clear(struct store_streams *streams);

/* The index of the batch's stream, which never changes. False: a new stream. */
bool store_streams_find(struct store_streams *streams, const struct batch *batch, size_t *at);

/* Adds a new stream, with what the database knows of it. */
enum err store_streams_add(struct store_streams *streams, struct store *store, const char *source, const struct batch *batch,
                           size_t *at);

/* Is the batch saved or buffered? */
bool store_streams_has(const struct store_streams *streams, size_t at, uint64_t sequence);

/* Is it saved, as far as is known here? */
bool store_streams_is_saved(const struct store_streams *streams, size_t at, uint64_t sequence);

/* Reserve, then add a buffered batch: only the first can fail. */
enum err store_streams_reserve(struct store_streams *streams, size_t at);
void store_streams_add_buffered(struct store_streams *streams, size_t at, uint64_t sequence);

/* In the transaction, before saving. *has_duplicates: another collector, or an earlier commit of ours whose result
 * was lost, has saved buffered batches; store_streams_is_saved says which. */
enum err store_streams_check(struct store_streams *streams, struct append *grow, bool *has_duplicates);

/* In the transaction: records the buffered batches as saved. After the commit call store_streams_committed. */
enum err store_streams_write(struct store_streams *streams, struct append *grow);
void store_streams_committed(struct store_streams *streams);

#endif
