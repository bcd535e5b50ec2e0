/* FNV-1a of 64 bits: for hashes that are saved or sent, and for comparing content. Anyone can make keys collide: tables with
 * keys from outside use base/map.h. */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ull
#define HASH_PRIME 0x100000001b3ull

/* Continues hash with these bytes. */
static inline uint64_t hash_add(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * HASH_PRIME;
    return hash;
}

/* The same for a string, NULL as "". The end of the string is hashed too, so that "ab", "c" differs from "a", "bc". */
static inline uint64_t hash_add_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * HASH_PRIME;
    return (hash ^ 0xff) * HASH_PRIME;
}

#endif
