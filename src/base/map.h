/* A hash table that finds the caller's items. It stores hash and address of each item and owns neither items nor keys, so
 * that one item can be in several maps and keys can have several parts:
 *
 *     uint64_t hash = map_hash_string(map_hash(0, &stream, sizeof stream), host);
 *     struct peer *peer = map_find(&map, hash, peer_is, &key);
 *     if (!peer) err = map_add(&map, hash, new_peer, PEERS_MAX);
 *
 * The hash is SipHash-1-3 under a random key of this process, so that whoever chooses the keys cannot make them collide.
 * The order of the items is therefore different in each process. A map of zeros is empty. For hashes that are saved or
 * sent use base/hash.h. */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t hash;
    void *item; /* NULL: free */
};

struct map {
    struct map_slot *slots;
    size_t count, slot_count; /* slot_count is 0 or a power of two, at least twice count */
};

/* The hash of a key. previous is 0, or the hash of the parts of the key before this one. */
uint64_t map_hash(uint64_t previous, const void *data, size_t size);
uint64_t map_hash_string(uint64_t previous, const char *string); /* NULL as "" */
/* The hash of a number that is a whole key, in a twentieth of the time: a multiplication with the same random key. */
uint64_t map_hash_number(uint64_t number);
/* map_hash under a given key, for tests. With previous 0 it is plain SipHash-1-3. */
uint64_t map_hash_with_key(const uint64_t key[2], uint64_t previous, const void *data, size_t size);

/* For items that move in memory: stores an index as an item, and returns it. */
static inline void *map_item_of_index(size_t index)
{
    return (void *)(uintptr_t)(index + 1);
}

static inline size_t map_index_of_item(const void *item)
{
    return (size_t)(uintptr_t)item - 1;
}

/* The item with this hash for which is(item, key) holds, or NULL. Inline, so that the compiler can inline the comparison. */
static inline void *map_find(const struct map *map, uint64_t hash, bool (*is)(const void *item, const void *key),
                             const void *key)
{
    if (!map->slot_count)
        return NULL;
    size_t mask = map->slot_count - 1, at = hash & mask;
    while (map->slots[at].item && (map->slots[at].hash != hash || !is(map->slots[at].item, key)))
        at = (at + 1) & mask;
    return map->slots[at].item;
}

/* Adds an item whose key is not in the map. FULL when there are max items already, NOMEM. */
enum err map_add(struct map *map, uint64_t hash, void *item, size_t max);

/* Ensures that map_add succeeds until the map has count items. */
enum err map_reserve(struct map *map, size_t count, size_t max);

/* Removes this item; nothing happens when it is not in the map. */
void map_remove(struct map *map, uint64_t hash, const void *item);

/* Steps through the items, in any order; NULL at the end. The item that was returned last may be removed; nothing else may
 * change until the end. */
struct map_iterator { /* begins with zeros */
    size_t at, left;
    bool is_started;
};
void *map_next(const struct map *map, struct map_iterator *iterator);

/* A module (base/module.h) has its own copy of these functions. It shares the hash key of the program, so that both can use the
 * same map. */
const uint64_t *map_shared_key(void);
void sonde_map_share(const uint64_t key[2]); /* found with dlsym, before the module has any map */

void map_clear(struct map *map); /* frees the table; it is empty then and can be used again */
void map_reset(struct map *map); /* empties it and keeps the memory */

#endif
