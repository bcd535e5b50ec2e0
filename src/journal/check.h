/* A checksum for what travels and what is stored: finds what was cut short, torn or flipped, at eight bytes a step. Not against
 * those who mean harm: for that there is CURVE. */
#ifndef SONDE_JOURNAL_CHECK_H
#define SONDE_JOURNAL_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHECK_START 0x9e3779b97f4a7c15ull

/* Goes on from mix with these bytes; each step is reversible, so that no change of a single word can be lost in it. */
static inline uint64_t check_add(uint64_t mix, const void *data, size_t size)
{
    const char *at = data;
    uint64_t word;
    for (mix ^= size; size >= 8; size -= 8, at += 8) {
        memcpy(&word, at, 8);
        mix = (mix ^ word) * 0xff51afd7ed558ccdull;
        mix ^= mix >> 32;
    }
    word = 0;
    if (size)
        memcpy(&word, at, size);
    mix = (mix ^ word) * 0xc4ceb9fe1a85ec53ull;
    return mix ^ mix >> 32;
}

static inline uint32_t check_end(uint64_t mix)
{
    mix = (mix ^ mix >> 33) * 0xff51afd7ed558ccdull;
    return (uint32_t)(mix ^ mix >> 33);
}

#endif
