/* Chunks in a list; texts in an open hash table that only says which copy there is already. */
#include "merge/arena.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE (64u << 10)
#define ALIGNMENT 16u

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, room;
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

static struct arena_chunk *add_chunk(struct arena *arena, size_t room)
{
    struct arena_chunk *chunk = calloc(1, sizeof *chunk + room);
    if (!chunk)
        return NULL;
    chunk->room = room;
    if (arena->chunks && room > CHUNK_SIZE) { /* full at once: the one with room left stays in front */
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
    if (!chunk || chunk->room - chunk->used < bytes)
        chunk = add_chunk(arena, bytes > CHUNK_SIZE / 4 ? bytes : CHUNK_SIZE);
    if (!chunk)
        return NULL;
    void *memory = chunk->data + chunk->used;
    chunk->used += bytes;
    return memory;
}

struct bytes arena_copy(struct arena *arena, struct bytes text)
{
    char *copy = arena_alloc(arena, text.size + 1, 1);
    if (copy && text.size)
        memcpy(copy, text.data, text.size);
    return (struct bytes){ copy, copy ? text.size : 0 };
}

void texts_init(struct texts *texts, struct arena *arena)
{
    *texts = (struct texts){ .arena = arena };
}

void texts_clear(struct texts *texts)
{
    free(texts->places);
    *texts = (struct texts){ .arena = texts->arena };
}

size_t bytes_hash(struct bytes text)
{
    uint64_t mix = 0x9e3779b97f4a7c15ull ^ text.size;
    size_t i = 0;
    for (; i + 8 <= text.size; i += 8) {
        uint64_t word;
        memcpy(&word, text.data + i, 8);
        mix = (mix ^ word) * 0xff51afd7ed558ccdull;
        mix ^= mix >> 32;
    }
    uint64_t rest = 0;
    if (i < text.size)
        memcpy(&rest, text.data + i, text.size - i);
    mix = (mix ^ rest) * 0xff51afd7ed558ccdull;
    return (size_t)(mix ^ mix >> 32);
}

/* The place where the text stands or belongs. */
static struct bytes *place_of(const struct texts *texts, struct bytes text)
{
    for (size_t i = bytes_hash(text);; i++) {
        struct bytes *place = &texts->places[i & (texts->room - 1)];
        if (!place->data || bytes_equal(*place, text))
            return place;
    }
}

static bool grow(struct texts *texts)
{
    if (texts->used < texts->room / 2)
        return true;
    struct bytes *old = texts->places;
    size_t old_room = texts->room, room = old_room ? old_room * 2 : 64;
    struct bytes *places = calloc(room, sizeof *places);
    if (!places)
        return false;
    texts->places = places;
    texts->room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].data)
            *place_of(texts, old[i]) = old[i];
    free(old);
    return true;
}

struct bytes texts_keep(struct texts *texts, struct bytes text)
{
    if (text.size == 0)
        return (struct bytes){ 0 };
    if (!grow(texts))
        return text;
    struct bytes *place = place_of(texts, text);
    if (!place->data) {
        struct bytes copy = arena_copy(texts->arena, text);
        if (!copy.data)
            return text;
        *place = copy;
        texts->used++;
    }
    return *place;
}
