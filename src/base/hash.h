/* FNV-1a of 64 bits, for short keys: of tables in memory, and of names that must be the same after a restart. It is not against
 * those who choose their keys. (Long texts, eight bytes at a step: model/dictionary.c. What was torn: journal/checksum.h.) */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ull
#define HASH_PRIME 0x100000001b3ull

/* Goes on from hash with these bytes. */
static inline uint64_t hash_add(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * HASH_PRIME;
    return hash;
}

/* The same for a text, NULL as "". Its end counts too, so that "ab", "c" is not "a", "bc". */
static inline uint64_t hash_add_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * HASH_PRIME;
    return (hash ^ 0xff) * HASH_PRIME;
}

#endif
