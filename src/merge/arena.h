/* Memory for one run: allocated piece by piece, freed all at once. */
#ifndef SONDE_MERGE_ARENA_H
#define SONDE_MERGE_ARENA_H

#include "base/buf.h"

struct arena {
    struct arena_chunk *chunks; /* the one in use comes first */
};

void arena_init(struct arena *arena);
void arena_clear(struct arena *arena);

/* Zeroed, aligned for any type; NULL if out of memory. Large blocks come from mmap, so that unused capacity costs
 * nothing. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);

/* A copy of the bytes, followed by a NUL that is not counted. data is NULL if out of memory. */
struct bytes arena_copy(struct arena *arena, struct bytes string);

/* Interned strings: equal strings share one copy. Paths, directories and tags repeat in nearly every process. */
struct arena_strings {
    struct arena *arena;
    struct bytes *slots; /* hash table, its size is a power of two */
    size_t capacity, used;
};

void arena_strings_init(struct arena_strings *strings, struct arena *arena);
void arena_strings_clear(struct arena_strings *strings); /* the copies remain in the arena */

/* An empty string returns no bytes. If out of memory it returns its argument, which the caller must be able to keep. */
struct bytes arena_strings_intern(struct arena_strings *strings, struct bytes string);

#endif
