/* The delta code of a single number: a value is sent as its difference from the previous one, divided by the unit in
 * which it moves, and the size of that step is predicted from the size of the last step. Both ends keep unit and last
 * size next to each value and update them by the same rules. The rules are part of the wire format (docs/wire.md):
 * never change them. */
#ifndef SONDE_JOURNAL_DELTA_H
#define SONDE_JOURNAL_DELTA_H

#include "journal/bits.h"

#include <math.h>

/* Kernels count in pages, kilobytes and ticks, but samplers report bytes and microseconds: differences are multiples of
 * these. */
enum { UNIT_ONE, UNIT_512, UNIT_1024, UNIT_4096, UNIT_1000, UNIT_10000, UNIT_MILLION, UNIT_TEN_MILLION, UNITS };

/* Floating-point values with few decimals, such as loads and temperatures, are sent as integers in hundredths or
 * millionths. */
enum { FORM_BITS, FORM_CENTI, FORM_MICRO, FORMS };

/* Flags stored with a value's unit or form, so that the hot loops need not read the set's description: saves a cache
 * line. */
#define UNIT_MASK 7
#define UNIT_IS_REAL 8
#define UNIT_IS_COUNTER 16

#define SIZE_CLIP 31    /* sizes of last steps are capped at this */
#define SIZE_ESCAPE 65  /* instead of a size: the step is no multiple of the unit, or the value not of the form */
#define SIZE_LINKED 128 /* flag stored with a last size: the value is predicted from another one (see STREAM_LINK) */

static inline int64_t delta_unit_times(int64_t steps, unsigned unit)
{
    static const uint64_t units[UNITS] = { 1, 512, 1024, 4096, 1000, 10000, 1000000, 10000000 };
    return (int64_t)((uint64_t)steps * units[unit & UNIT_MASK]);
}

/* Divisions by constants, which compilers turn into multiplications. */
static inline int64_t delta_unit_steps(int64_t difference, unsigned unit)
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

/* The unit for a value that was 0 before, or whose last unit did not fit: the first of the list that divides both
 * numbers. */
static inline unsigned delta_find_unit(uint64_t value, int64_t difference)
{
    static const uint8_t order[] = { UNIT_TEN_MILLION, UNIT_MILLION, UNIT_10000, UNIT_4096, UNIT_1000, UNIT_1024, UNIT_512 };
    for (unsigned i = 0; i < sizeof order; i++)
        if (delta_unit_times(delta_unit_steps((int64_t)value, order[i]), order[i]) == (int64_t)value
            && delta_unit_times(delta_unit_steps(difference, order[i]), order[i]) == difference)
            return order[i];
    return UNIT_ONE;
}

/* The number of hundredths or millionths that converts back to exactly this value, if there is one. */
static inline bool delta_form_whole(double real, unsigned form, int64_t *whole)
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

static inline double delta_form_real(int64_t whole, unsigned form)
{
    return (double)whole / (form == FORM_CENTI ? 1e2 : 1e6);
}

static inline unsigned delta_find_form(double real)
{
    int64_t whole;
    if (delta_form_whole(real, FORM_CENTI, &whole))
        return FORM_CENTI;
    return delta_form_whole(real, FORM_MICRO, &whole) ? FORM_MICRO : FORM_BITS;
}

/* A size is likely to be close to the last one, so sizes are ranked by likelihood: last, last - 1, last + 1, last - 2,
 * ... as long as they are above 0; 0 itself is inserted near the front. */
static inline unsigned delta_rank_of_zero(unsigned last)
{
    return last <= 2 ? 1 : last <= 4 ? 2 : 4;
}

static inline unsigned delta_rank_of(unsigned size, unsigned last) /* last > 0 */
{
    unsigned rank, zero = delta_rank_of_zero(last);
    if (size == 0)
        return zero;
    if (size >= last)
        rank = size - last < last ? 2 * (size - last) : size - 1;
    else
        rank = 2 * (last - size) - 1;
    return rank + (rank >= zero);
}

static inline unsigned delta_size_of_rank(unsigned rank, unsigned last)
{
    unsigned zero = delta_rank_of_zero(last);
    if (rank == zero)
        return 0;
    rank -= rank > zero;
    if (rank >= 2 * last - 1)
        return rank + 1;
    return rank & 1 ? last - (rank + 1) / 2 : last + rank / 2;
}

/* Ranks 0 to 3 are 00, 01, 100, 101; from 4 on 11 followed by Exp-Golomb of order 1. The leftmost bit is sent first. */
static inline void delta_put_rank(struct bit_writer *w, unsigned rank)
{
    static const uint8_t codes[] = { 0, 2, 1, 5 }, sizes[] = { 2, 2, 3, 3 };
    if (rank < 4) {
        bits_put(w, codes[rank], sizes[rank]);
        return;
    }
    bits_put(w, 3, 2);
    bits_put_golomb(w, rank - 4, 1);
}

static inline uint64_t delta_get_rank(struct bit_reader *r)
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

/* Decoding table: the size encoded by the next DELTA_RANK_BITS bits, for each last size. One lookup instead of branches
 * that the CPU cannot predict. */
#define DELTA_RANK_BITS 6
struct delta_rank_code {
    uint8_t size, length; /* length 0: the code is longer than the table; use delta_get_rank */
};
extern struct delta_rank_code delta_rank_codes[SIZE_CLIP + 1][1 << DELTA_RANK_BITS];
void delta_init(void); /* fills the table; call before decoding, from any thread */

#endif
