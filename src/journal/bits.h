/* Bit packing for the delta codec: bits are stored in order, starting at the lowest bit of the first byte. Inline,
 * because these are the innermost loops of the encoder and the decoder. */
#ifndef SONDE_JOURNAL_BITS_H
#define SONDE_JOURNAL_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BITS_SLACK 8 /* a writer stores 8 bytes at a time: capacity it needs beyond its last byte */

struct bit_writer {
    uint8_t *at;
    uint64_t hold; /* bits that do not fill a byte yet */
    unsigned count;
};

/* Writes the lowest size bits (at most 56) of value; its other bits must be 0. */
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

static inline unsigned bits_size(uint64_t value) /* bit length of value; 0 for 0 */
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Exp-Golomb code of order k: value + 2^k in binary, preceded by one zero for each bit beyond k + 1. The highest bit is
 * written first. */
static inline void bits_put_golomb(struct bit_writer *w, uint64_t value, unsigned k)
{
    value += 1ull << k;
    unsigned zeros = 63 - (unsigned)__builtin_clzll(value >> k | 1), size = zeros + k;
    bits_put(w, 1ull << zeros, zeros + 1);
    bits_put_long(w, value & ((1ull << size) - 1), size);
}

static inline void bits_put_end(struct bit_writer *w)
{
    w->at += w->count > 0; /* bits_put has already stored the partial byte */
    w->hold = 0;
    w->count = 0;
}

/* Reading past the end returns zeros; past counts them, so that bits_get_end can report it. */
struct bit_reader {
    const uint8_t *at, *end;
    uint64_t hold;
    unsigned count; /* bits in hold */
    uint64_t past;  /* bytes past the end that were loaded into hold */
};

/* Afterwards hold contains at least 56 bits. */
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

static inline uint64_t bits_get(struct bit_reader *r, unsigned size) /* at most 56, already in hold */
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

#define BITS_ZEROS_MAX 31 /* longest zero prefix of a valid code; longer ones (damage) are read as this */

static inline uint64_t bits_get_golomb(struct bit_reader *r, unsigned k)
{
    if (r->count <= BITS_ZEROS_MAX)
        bits_fill(r);
    unsigned zeros = (unsigned)__builtin_ctzll(r->hold | 1ull << BITS_ZEROS_MAX), size = zeros + k;
    bits_skip(r, zeros + 1);
    return (bits_get_long(r, size) | 1ull << size) - (1ull << k);
}

/* Ends the bits and returns where whole bytes continue; false: the bits ran past the end of the input. */
static inline bool bits_get_end(struct bit_reader *r, const uint8_t **at)
{
    if (r->past * 8 > r->count)
        return false;
    *at = r->at - (r->count / 8 - r->past);
    return true;
}

#endif
