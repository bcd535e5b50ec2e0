/* How far streams have come, for the sink store: what of each is filed, by this collector or by another one that files in the
 * same database, and what was taken and is not filed yet. The database has the say, in the transaction that files. */
#ifndef SONDE_SINKS_STORE_STREAMS_H
#define SONDE_SINKS_STORE_STREAMS_H

#include "base/ranges.h"
#include "model/batch.h"
#include "store/append.h"

#define STORE_STREAMS_NONE SIZE_MAX /* of a batch that has no sequence */

struct store_stream {
    char *host;
    uint64_t stream;
    uint64_t old;         /* all up to here was filed while each collector kept its own account */
    struct ranges filed;  /* as the database said last, and what was filed from here since */
    struct ranges after;  /* what filed is when the transaction that is under way has ended well */
    struct ranges taken;  /* and not filed yet */
    uint64_t checked;     /* = store_streams.round: nobody else has filed anything of it since it was read */
};

struct store_streams {
    struct store_stream *list;
    size_t count, capacity, last;
    uint64_t round; /* goes on when somebody else has filed something */
    uint64_t count_left; /* of grow_count: what our last transaction has left there; 0: none has */
    uint64_t count_now;  /* the one that is under way */
};

void store_streams_clear(struct store_streams *streams);

/* The place of the batch's stream in the list, which it keeps for ever. False: it was not met yet. */
bool store_streams_find(struct store_streams *streams, const struct batch *batch, size_t *at);

/* One that was not met yet: asks the store for it. */
enum err store_streams_add(struct store_streams *streams, struct store *store, const char *source, const struct batch *batch,
                           size_t *at);

/* Is it there already, filed or taken? */
bool store_streams_has(const struct store_streams *streams, size_t at, uint64_t sequence);

/* Is it filed, as far as is known here? */
bool store_streams_filed(const struct store_streams *streams, size_t at, uint64_t sequence);

/* The first may fail, the second then does not. */
enum err store_streams_make_room(struct store_streams *streams, size_t at);
void store_streams_take(struct store_streams *streams, size_t at, uint64_t sequence);

/* In a transaction, before anything is filed. *has_doubles: of what was taken something was filed by others meanwhile, or by
 * ourselves in a transaction of which we have not heard how it ended: store_streams_filed tells what. */
enum err store_streams_check(struct store_streams *streams, struct grow *grow, bool *has_doubles);

/* In the same: all that was taken is filed with it. Then, when it has ended well: */
enum err store_streams_write(struct store_streams *streams, struct grow *grow);
void store_streams_settle(struct store_streams *streams);

#endif
