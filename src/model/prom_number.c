/* Two digits at a time from a table; most fractions are handled as integers. */
#include "model/prom_number.h"

#include "base/format.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DECIMALS_MAX 18u
#define EXACT_MAX 9007199254740992.0 /* 2^53: integers up to it are exact */

static const uint64_t powers[DECIMALS_MAX + 1] = {
    1ull, 10ull, 100ull, 1000ull, 10000ull, 100000ull, 1000000ull, 10000000ull, 100000000ull, 1000000000ull,
    10000000000ull, 100000000000ull, 1000000000000ull, 10000000000000ull, 100000000000000ull, 1000000000000000ull,
    10000000000000000ull, 100000000000000000ull, 1000000000000000000ull,
};

/* Each is exact: 5^27 has 63 bits. */
#define POWERS_MAX 27u
static const long double wide_powers[POWERS_MAX + 1] = {
    1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
    1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
};

static size_t write_u64(char *text, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char digits[20];
    size_t at = sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(digits + at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + value * 2, 2);
    } else {
        digits[--at] = (char)('0' + value);
    }
    memcpy(text, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

/* "." and part / 10^decimals without trailing zeros; nothing if part is 0. */
static size_t write_fraction(char *text, uint64_t part, unsigned decimals)
{
    if (part == 0)
        return 0;
    text[0] = '.';
    for (unsigned i = decimals; i > 0; i--, part /= 10)
        text[i] = (char)('0' + part % 10);
    size_t size = decimals + 1;
    while (text[size - 1] == '0')
        size--;
    return size;
}

size_t prom_number_u64(char *text, uint64_t value, unsigned decimals)
{
    if (decimals == 0)
        return write_u64(text, value);
    uint64_t power = powers[decimals < DECIMALS_MAX ? decimals : DECIMALS_MAX];
    size_t size = write_u64(text, value / power);
    return size + write_fraction(text + size, value % power, decimals);
}

size_t prom_number_i64(char *text, int64_t value, unsigned decimals)
{
    if (value >= 0)
        return prom_number_u64(text, (uint64_t)value, decimals);
    text[0] = '-';
    return 1 + prom_number_u64(text + 1, 0 - (uint64_t)value, decimals);
}

static size_t copy(char *text, const char *what)
{
    size_t size = strlen(what);
    memcpy(text, what, size);
    return size;
}

/* How far the point must be moved to the right so that so many digits stand before it; more than POWERS_MAX: too far. */
static unsigned shift_for(double size, unsigned digits)
{
    unsigned whole = 1, zeros = 0;
    if (size >= 1) {
        while (whole < digits && size >= (double)powers[whole])
            whole++;
        return size < (double)powers[digits] ? digits - whole : POWERS_MAX + 1;
    }
    for (double grown = size * 10; grown < 1 && zeros <= POWERS_MAX; grown *= 10)
        zeros++;
    return digits + zeros;
}

/* 123000 and 8 give "123e-5": for what would have too many zeros behind the point. */
static size_t write_small(char *text, uint64_t digits, unsigned shift)
{
    for (; digits && digits % 10 == 0; digits /= 10)
        shift--;
    size_t size = write_u64(text, digits);
    memcpy(text + size, "e-", 2);
    return size + 2 + write_u64(text + size + 2, shift);
}

/* With so many digits in all, if that reads back as the same number; 0: it may not. The wider type keeps the error of the
 * multiplication below the last figure; the division shows whether the digits are nearer to value than to any other. */
static size_t write_figures(char *text, double value, unsigned digits)
{
    double size = fabs(value);
    unsigned shift = shift_for(size, digits);
    if (LDBL_MANT_DIG < 64 || shift > POWERS_MAX)
        return 0;
    uint64_t shifted = (uint64_t)(size * wide_powers[shift] + 0.5L);
    long double step = (long double)size - (long double)nextafter(size, 0); /* to the nearest other number */
    if (fabsl((long double)shifted / wide_powers[shift] - (long double)size) > step * 0.49L)
        return 0;
    text[0] = '-';
    text += value < 0;
    size_t written = shift <= DECIMALS_MAX ? prom_number_u64(text, shifted, shift) : write_small(text, shifted, shift);
    return written + (value < 0);
}

/* Sensors give numbers of few decimals: then the integer of that many decimals, divided, is the same number again. */
size_t prom_number_f64(char *text, double value)
{
    if (isnan(value))
        return copy(text, "NaN");
    if (isinf(value))
        return copy(text, value > 0 ? "+Inf" : "-Inf");
    for (unsigned decimals = 0; decimals <= 6; decimals += 3) {
        double power = (double)powers[decimals], shifted = round(value * power);
        if (fabs(shifted) < EXACT_MAX && shifted / power == value)
            return prom_number_i64(text, (int64_t)shifted, decimals);
    }
    size_t size = write_figures(text, value, 15);
    if (!size)
        size = write_figures(text, value, 17);
    return size ? size : copy(text, format_f64(value).s);
}
