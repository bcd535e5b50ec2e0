/* Encoding of records: LEB128 for numbers, length and bytes for strings. Inline and without allocation, because the probe
 * uses it inside monitored programs. */
#ifndef SONDE_MODEL_PACK_H
#define SONDE_MODEL_PACK_H

#include "base/buf.h"
#include "model/counters.h"

#include <string.h>

#define PACK_NUMBER_MAX 10

/* Writes into memory of the caller. When it does not fit, full is set and nothing more is written. */
struct packer {
    uint8_t *at, *end;
    bool full;
};

static inline void pack_number(struct packer *p, uint64_t value)
{
    if (p->end - p->at < PACK_NUMBER_MAX) {
        p->full = true;
        return;
    }
    while (value >= 0x80) {
        *p->at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p->at++ = (uint8_t)value;
}

static inline void pack_text(struct packer *p, struct bytes text)
{
    pack_number(p, text.size);
    if (p->full || (size_t)(p->end - p->at) < text.size) {
        p->full = true;
        return;
    }
    if (text.size)
        memcpy(p->at, text.data, text.size);
    p->at += text.size;
}

static inline void pack_counters(struct packer *p, struct counters counters)
{
    pack_number(p, counters.known);
    for (int i = 0; i < COUNTERS_SIZE; i++)
        if (counters_has(&counters, (enum counter)i))
            pack_number(p, counters.value[i]);
}

/* Reads what a packer wrote. Safe for any input: after an error bad is set and all functions return zeros. */
struct unpacker {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint64_t unpack_number(struct unpacker *u)
{
    if (u->at < u->end && !(*u->at & 0x80)) /* most are small */
        return *u->at++;
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && u->at < u->end; shift += 7) {
        uint8_t byte = *u->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    u->bad = true;
    return 0;
}

/* Points into the input. */
static inline struct bytes unpack_text(struct unpacker *u)
{
    uint64_t size = unpack_number(u);
    if (u->bad || size > (uint64_t)(u->end - u->at)) {
        u->bad = true;
        return (struct bytes){ 0 };
    }
    struct bytes text = { (const char *)u->at, (size_t)size };
    u->at += size;
    return text;
}

/* Into zeroed counters. */
static inline void unpack_counters_into(struct unpacker *u, struct counters *counters)
{
    const uint64_t named = (1ull << COUNTERS_SIZE) - 1;
    uint64_t known = unpack_number(u);
    for (uint64_t rest = known & named; rest && !u->bad; rest &= rest - 1)
        counters->value[__builtin_ctzll(rest)] = unpack_number(u);
    for (uint64_t rest = known & ~named; rest && !u->bad; rest &= rest - 1)
        unpack_number(u); /* written by a newer version: skip unknown counters */
    counters->known = u->bad ? 0 : known & named;
}

static inline struct counters unpack_counters(struct unpacker *u)
{
    struct counters counters = { 0 };
    unpack_counters_into(u, &counters);
    return counters;
}

#endif
