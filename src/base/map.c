/* Open addressing with linear probing; a removal moves later items back, so that there are no tombstones. SipHash-1-3 as
 * in Python and Rust: https://www.aumasson.jp/siphash/siphash.pdf with one round per word and three at the end. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

#define SLOTS_FIRST 16u

static uint64_t hash_key[2];

/* Before main, so that threads need no lock. Without getrandom (old kernels, seccomp filters) the 16 random bytes that
 * the kernel gives every process are used. */
__attribute__((constructor)) static void choose_hash_key(void)
{
    const void *from_kernel = (const void *)getauxval(AT_RANDOM);
    if (getrandom(hash_key, sizeof hash_key, GRND_NONBLOCK) != sizeof hash_key && from_kernel)
        memcpy(hash_key, from_kernel, sizeof hash_key);
}

const uint64_t *map_shared_key(void)
{
    return hash_key;
}

__attribute__((visibility("default"))) void sonde_map_share(const uint64_t key[2])
{
    memcpy(hash_key, key, sizeof hash_key);
}

static inline uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

/* The last bytes, fewer than 8, without a call of memcpy whose size the compiler does not know. */
static inline uint64_t rest_of(const uint8_t *data, size_t size)
{
    uint64_t word = 0;
    if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, data, 4);
        memcpy(&last, data + size - 4, 4);
        return first | (uint64_t)last << (8 * (size - 4));
    }
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)data[i] << (8 * i);
    return word;
}

uint64_t map_hash_with_key(const uint64_t key[2], uint64_t previous, const void *data, size_t size)
{
    uint64_t first = key[0] ^ previous; /* as secret as the key, and no round more */
    uint64_t v[4] = { first ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, first ^ 0x6c7967656e657261u,
                      key[1] ^ 0x7465646279746573u };
    const uint8_t *at = data, *end = at + (size & ~(size_t)7);
    uint64_t word;
    for (; at < end; at += 8) {
        memcpy(&word, at, 8);
        sip_word(v, word);
    }
    sip_word(v, rest_of(at, size & 7) | (uint64_t)size << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t map_hash(uint64_t previous, const void *data, size_t size)
{
    return map_hash_with_key(hash_key, previous, data, size);
}

/* Both halves of the product: each bit of the number changes half of them, by an amount that only the key determines. */
uint64_t map_hash_number(uint64_t number)
{
    __extension__ unsigned __int128 product = (unsigned __int128)(number ^ hash_key[0]) * (hash_key[1] | 1);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t map_hash_string(uint64_t previous, const char *string)
{
    return map_hash(previous, string ? string : "", string ? strlen(string) : 0);
}

static void put(struct map *map, struct map_slot slot)
{
    size_t mask = map->slot_count - 1, at = slot.hash & mask;
    while (map->slots[at].item)
        at = (at + 1) & mask;
    map->slots[at] = slot;
}

enum err map_reserve(struct map *map, size_t count, size_t max)
{
    if (count > max)
        return FULL;
    if (count <= map->slot_count / 2)
        return OK;
    struct map larger = { .slot_count = map->slot_count ? map->slot_count : SLOTS_FIRST / 2, .count = map->count };
    while (count > larger.slot_count / 2)
        larger.slot_count *= 2;
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return NOMEM;
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].item)
            put(&larger, map->slots[i]);
    free(map->slots);
    *map = larger;
    return OK;
}

enum err map_add(struct map *map, uint64_t hash, void *item, size_t max)
{
    enum err err = map_reserve(map, map->count + 1, max);
    if (err)
        return err;
    put(map, (struct map_slot){ hash, item });
    map->count++;
    return OK;
}

/* Frees the slot, and moves back each later item of the same chain that would not be found across the gap. */
static void free_slot(struct map *map, size_t gap)
{
    size_t mask = map->slot_count - 1;
    for (size_t at = (gap + 1) & mask; map->slots[at].item; at = (at + 1) & mask)
        if (((at - map->slots[at].hash) & mask) >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    map->slots[gap] = (struct map_slot){ 0 };
}

void map_remove(struct map *map, uint64_t hash, const void *item)
{
    if (!map->slot_count)
        return;
    size_t mask = map->slot_count - 1, at = hash & mask;
    while (map->slots[at].item && map->slots[at].item != item)
        at = (at + 1) & mask;
    if (!map->slots[at].item)
        return;
    free_slot(map, at);
    map->count--;
}

/* Backwards from a free slot, so that free_slot moves only items that were returned already. */
void *map_next(const struct map *map, struct map_iterator *iterator)
{
    if (!iterator->is_started) {
        *iterator = (struct map_iterator){ .left = map->slot_count, .is_started = true };
        while (iterator->left && map->slots[iterator->at].item)
            iterator->at++;
    }
    while (iterator->left) {
        iterator->left--;
        iterator->at = (iterator->at - 1) & (map->slot_count - 1);
        if (map->slots[iterator->at].item)
            return map->slots[iterator->at].item;
    }
    return NULL;
}

void map_clear(struct map *map)
{
    free(map->slots);
    *map = (struct map){ 0 };
}

void map_reset(struct map *map)
{
    if (map->count)
        memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    map->count = 0;
}
