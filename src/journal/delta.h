/* How a number is told by what came before: in which unit it moves, and how large its last step was. Both ends keep these two
 * beside each value and change them by the same rules. The rules are part of the wire (docs/wire.md): never change them. */
#ifndef SONDE_JOURNAL_DELTA_H
#define SONDE_JOURNAL_DELTA_H

#include "journal/bits.h"

#include <math.h>

/* Kernels count in pages, kilobytes and ticks, and samplers tell them in bytes and microseconds: steps are multiples. */
enum { UNIT_ONE, UNIT_512, UNIT_1024, UNIT_4096, UNIT_1000, UNIT_10000, UNIT_MILLION, UNIT_TEN_MILLION, UNITS };

/* Reals that are decimals, as loads and temperatures: told as whole hundredths or millionths. */
enum { FORM_BITS, FORM_CENTI, FORM_MICRO, FORMS };

/* Beside the unit or form of a value, so that the description of its set is not needed: a cache line saved. */
#define UNIT_MASK 7
#define UNIT_IS_REAL 8
#define UNIT_IS_COUNTER 16

#define SIZE_CLIP 31    /* sizes of last steps are kept up to this */
#define SIZE_ESCAPE 65  /* in place of a size: the step is no multiple of the unit, or the real does not have the form */
#define SIZE_LINKED 128 /* beside a size that is kept: the value follows another one */

static inline int64_t unit_times(int64_t steps, unsigned unit)
{
    static const uint64_t units[UNITS] = { 1, 512, 1024, 4096, 1000, 10000, 1000000, 10000000 };
    return (int64_t)((uint64_t)steps * units[unit & UNIT_MASK]);
}

/* Divisions by constants, which compilers turn into multiplications. */
static inline int64_t unit_steps(int64_t difference, unsigned unit)
{
    switch (unit & UNIT_MASK) {
    case UNIT_512: return difference / 512;
    case UNIT_1024: return difference / 1024;
    case UNIT_4096: return difference / 4096;
    case UNIT_1000: return difference / 1000;
    case UNIT_10000: return difference / 10000;
    case UNIT_MILLION: return difference / 1000000;
    case UNIT_TEN_MILLION: return difference / 10000000;
    default: return difference;
    }
}

/* The unit of a value that was 0 before, or whose last unit did not fit: the first of the list that divides both. */
static inline unsigned unit_find(uint64_t value, int64_t difference)
{
    static const uint8_t order[] = { UNIT_TEN_MILLION, UNIT_MILLION, UNIT_10000, UNIT_4096, UNIT_1000, UNIT_1024, UNIT_512 };
    for (unsigned i = 0; i < sizeof order; i++)
        if (unit_times(unit_steps((int64_t)value, order[i]), order[i]) == (int64_t)value
            && unit_times(unit_steps(difference, order[i]), order[i]) == difference)
            return order[i];
    return UNIT_ONE;
}

/* The whole number of hundredths or millionths that is this real to the last bit, if there is one. */
static inline bool form_whole(double real, unsigned form, int64_t *whole)
{
    double scale = form == FORM_CENTI ? 1e2 : 1e6, product = real * scale;
    uint64_t bits, back_bits;
    if (!(product > -4e15 && product < 4e15))
        return false;
    *whole = (int64_t)rint(product);
    double back = (double)*whole / scale;
    memcpy(&bits, &real, 8);
    memcpy(&back_bits, &back, 8);
    return bits == back_bits;
}

static inline double form_real(int64_t whole, unsigned form)
{
    return (double)whole / (form == FORM_CENTI ? 1e2 : 1e6);
}

static inline unsigned form_find(double real)
{
    int64_t whole;
    if (form_whole(real, FORM_CENTI, &whole))
        return FORM_CENTI;
    return form_whole(real, FORM_MICRO, &whole) ? FORM_MICRO : FORM_BITS;
}

/* Sizes are likely to be near the last one. The order of likelihood: last, last - 1, last + 1, last - 2, … as far as they
 * are above 0; and 0 in the midst of the first. */
static inline unsigned rank_of_zero(unsigned last)
{
    return last <= 2 ? 1 : last <= 4 ? 2 : 4;
}

static inline unsigned rank_of(unsigned size, unsigned last) /* last > 0 */
{
    unsigned rank, zero = rank_of_zero(last);
    if (size == 0)
        return zero;
    if (size >= last)
        rank = size - last < last ? 2 * (size - last) : size - 1;
    else
        rank = 2 * (last - size) - 1;
    return rank + (rank >= zero);
}

static inline unsigned size_of_rank(unsigned rank, unsigned last)
{
    unsigned zero = rank_of_zero(last);
    if (rank == zero)
        return 0;
    rank -= rank > zero;
    if (rank >= 2 * last - 1)
        return rank + 1;
    return rank & 1 ? last - (rank + 1) / 2 : last + rank / 2;
}

/* 00, 01, 100, 101, and from 4 on 11 with Exp-Golomb of order 1: what comes first on the wire stands on the left. */
static inline void rank_put(struct bit_writer *w, unsigned rank)
{
    static const uint8_t codes[] = { 0, 2, 1, 5 }, sizes[] = { 2, 2, 3, 3 };
    if (rank < 4) {
        bits_put(w, codes[rank], sizes[rank]);
        return;
    }
    bits_put(w, 3, 2);
    bits_put_golomb(w, rank - 4, 1);
}

static inline uint64_t rank_get(struct bit_reader *r)
{
    if (r->count < 3)
        bits_fill(r);
    if (!(r->hold & 1)) {
        unsigned rank = r->hold >> 1 & 1;
        bits_skip(r, 2);
        return rank;
    }
    if (!(r->hold & 2)) {
        unsigned rank = 2 + (r->hold >> 2 & 1);
        bits_skip(r, 3);
        return rank;
    }
    bits_skip(r, 2);
    return 4 + bits_get_golomb(r, 1);
}

/* What the next RANK_BITS bits say of a size, for each last size: one look instead of branches that nobody can foretell. */
#define RANK_BITS 6
struct rank_code {
    uint8_t size, length; /* length 0: the code is longer, see rank_get */
};
extern struct rank_code rank_codes[SIZE_CLIP + 1][1 << RANK_BITS];
void rank_codes_make(void); /* before the first is read; from any thread */

#endif
