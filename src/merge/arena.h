/* Memory that lives and dies with one run: taken piece by piece, given back at once. */
#ifndef SONDE_MERGE_ARENA_H
#define SONDE_MERGE_ARENA_H

#include "base/buf.h"

struct arena {
    struct arena_chunk *chunks; /* the one in use first */
};

void arena_init(struct arena *arena);
void arena_clear(struct arena *arena);

/* Zeroed, aligned for any type; NULL when memory ran out. Large pieces come from the kernel untouched, so that room
 * which is never used costs nothing. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);

/* An own copy of the bytes, with a NUL behind them that is not counted. data is NULL when memory ran out. */
struct bytes arena_copy(struct arena *arena, struct bytes text);

size_t bytes_hash(struct bytes text);

/* The same text gives the same copy: paths, folders and tags repeat in nearly every process. */
struct texts {
    struct arena *arena;
    struct bytes *places; /* a hash table with a power of two of places */
    size_t room, used;
};

void texts_init(struct texts *texts, struct arena *arena);
void texts_clear(struct texts *texts); /* the copies stay */

/* An empty text gives no bytes. When memory runs out: the text itself, which the caller must be able to keep. */
struct bytes texts_keep(struct texts *texts, struct bytes text);

#endif
