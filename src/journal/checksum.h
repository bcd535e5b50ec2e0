/* A fast 64-bit checksum for messages on the wire: detects truncated, torn and flipped data, eight bytes per step. It
 * does not protect against deliberate changes; CURVE does. (The journal's files use journal_checksum, which differs in
 * one shift.) */
#ifndef SONDE_JOURNAL_CHECKSUM_H
#define SONDE_JOURNAL_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHECKSUM_START 0x9e3779b97f4a7c15ull

/* Continues the checksum mix over these bytes. Each step is reversible, so a change of a single word always changes the
 * result. */
static inline uint64_t checksum_add(uint64_t mix, const void *data, size_t size)
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

static inline uint32_t checksum_finish(uint64_t mix)
{
    mix = (mix ^ mix >> 33) * 0xff51afd7ed558ccdull;
    return (uint32_t)(mix ^ mix >> 33);
}

#endif
