/* Bits one after another, the first in the lowest bit of the first byte. Inline: these are the innermost loops. */
#ifndef SONDE_JOURNAL_BITS_H
#define SONDE_JOURNAL_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BITS_SLACK 8 /* bytes of room that a writer wants behind what it writes */

struct bit_writer {
    uint8_t *at;
    uint64_t hold; /* not yet whole bytes */
    unsigned count;
};

/* The lowest size bits of value, at most 56; the others must be 0. */
static inline void bits_put(struct bit_writer *w, uint64_t value, unsigned size)
{
    w->hold |= value << w->count;
    w->count += size;
    memcpy(w->at, &w->hold, 8);
    unsigned bytes = w->count >> 3;
    w->at += bytes;
    w->hold >>= bytes * 8;
    w->count &= 7;
}

static inline void bits_put_long(struct bit_writer *w, uint64_t value, unsigned size)
{
    if (size > 32) {
        bits_put(w, (uint32_t)value, 32);
        value >>= 32;
        size -= 32;
    }
    bits_put(w, value, size);
}

static inline unsigned bits_size(uint64_t value) /* of the number; 0 for 0 */
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Exp-Golomb of order k: value + 2^k, as many zeros before it as it has bits beyond k + 1; its highest bit is written first. */
static inline void bits_put_golomb(struct bit_writer *w, uint64_t value, unsigned k)
{
    value += 1ull << k;
    unsigned zeros = 63 - (unsigned)__builtin_clzll(value >> k | 1), size = zeros + k;
    bits_put(w, 1ull << zeros, zeros + 1);
    bits_put_long(w, value & ((1ull << size) - 1), size);
}

static inline void bits_put_end(struct bit_writer *w)
{
    w->at += w->count > 0; /* bits_put has written it */
    w->hold = 0;
    w->count = 0;
}

/* Reads zeros behind the end, and remembers that it did. */
struct bit_reader {
    const uint8_t *at, *end;
    uint64_t hold;
    unsigned count; /* in hold */
    uint64_t past;  /* bytes behind the end that are in hold, or were */
};

/* At least 56 bits are in hold afterwards. */
static inline void bits_fill(struct bit_reader *r)
{
    if (r->end - r->at >= 8) {
        uint64_t next;
        memcpy(&next, r->at, 8);
        r->hold |= next << r->count;
        r->at += (63 - r->count) >> 3;
        r->count |= 56;
        return;
    }
    while (r->count <= 56) {
        if (r->at < r->end)
            r->hold |= (uint64_t)*r->at++ << r->count;
        else
            r->past++;
        r->count += 8;
    }
}

static inline void bits_skip(struct bit_reader *r, unsigned size)
{
    r->hold >>= size;
    r->count -= size;
}

static inline uint64_t bits_get(struct bit_reader *r, unsigned size) /* at most 56, which were filled */
{
    uint64_t value = r->hold & ((1ull << size) - 1);
    bits_skip(r, size);
    return value;
}

static inline uint64_t bits_get_long(struct bit_reader *r, unsigned size) /* at most 64 */
{
    if (r->count >= size && size <= 56)
        return bits_get(r, size);
    uint64_t low = 0;
    unsigned shift = 0;
    bits_fill(r);
    if (size > 32) {
        low = bits_get(r, 32);
        shift = 32;
        bits_fill(r);
    }
    return low | bits_get(r, size - shift) << shift;
}

#define BITS_ZEROS_MAX 31 /* so many at most before a number; more are nonsense, and are taken for so many */

static inline uint64_t bits_get_golomb(struct bit_reader *r, unsigned k)
{
    if (r->count <= BITS_ZEROS_MAX)
        bits_fill(r);
    unsigned zeros = (unsigned)__builtin_ctzll(r->hold | 1ull << BITS_ZEROS_MAX), size = zeros + k;
    bits_skip(r, zeros + 1);
    return (bits_get_long(r, size) | 1ull << size) - (1ull << k);
}

/* Where whole bytes go on; false: more was read than there was. */
static inline bool bits_get_end(struct bit_reader *r, const uint8_t **at)
{
    if (r->past * 8 > r->count)
        return false;
    *at = r->at - (r->count / 8 - r->past);
    return true;
}

#endif
