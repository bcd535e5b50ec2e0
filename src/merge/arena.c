/* A list of chunks; interned strings in an open-addressing hash table. */
#include "merge/arena.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE (64u << 10)
#define ALIGNMENT 16u

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, capacity;
    _Alignas(ALIGNMENT) char data[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){ 0 };
}

void arena_clear(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    arena_init(arena);
}

static struct arena_chunk *add_chunk(struct arena *arena, size_t capacity)
{
    struct arena_chunk *chunk = calloc(1, sizeof *chunk + capacity);
    if (!chunk)
        return NULL;
    chunk->capacity = capacity;
    if (arena->chunks && capacity > CHUNK_SIZE) { /* full at once: keep the chunk with free space in front */
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->capacity - chunk->used < bytes)
        chunk = add_chunk(arena, bytes > CHUNK_SIZE / 4 ? bytes : CHUNK_SIZE);
    if (!chunk)
        return NULL;
    void *memory = chunk->data + chunk->used;
    chunk->used += bytes;
    return memory;
}

struct bytes arena_copy(struct arena *arena, struct bytes string)
{
    char *copy = arena_alloc(arena, string.size + 1, 1);
    if (copy && string.size)
        memcpy(copy, string.data, string.size);
    return (struct bytes){ copy, copy ? string.size : 0 };
}

void arena_strings_init(struct arena_strings *strings, struct arena *arena)
{
    *strings = (struct arena_strings){ .arena = arena };
}

void arena_strings_clear(struct arena_strings *strings)
{
    free(strings->slots);
    *strings = (struct arena_strings){ .arena = strings->arena };
}

/* The slot of this string, or the free slot where it belongs. */
static struct bytes *slot_of(const struct arena_strings *strings, struct bytes string)
{
    for (size_t i = map_hash(0, string.data, string.size);; i++) {
        struct bytes *position = &strings->slots[i & (strings->capacity - 1)];
        if (!position->data || bytes_equal(*position, string))
            return position;
    }
}

static bool grow(struct arena_strings *strings)
{
    if (strings->used < strings->capacity / 2)
        return true;
    struct bytes *old = strings->slots;
    size_t old_capacity = strings->capacity, capacity = old_capacity ? old_capacity * 2 : 64;
    struct bytes *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    strings->slots = slots;
    strings->capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].data)
            *slot_of(strings, old[i]) = old[i];
    free(old);
    return true;
}

struct bytes arena_strings_intern(struct arena_strings *strings, struct bytes string)
{
    if (string.size == 0)
        return (struct bytes){ 0 };
    if (!grow(strings))
        return string;
    struct bytes *position = slot_of(strings, string);
    if (!position->data) {
        struct bytes copy = arena_copy(strings->arena, string);
        if (!copy.data)
            return string;
        *position = copy;
        strings->used++;
    }
    return *position;
}
