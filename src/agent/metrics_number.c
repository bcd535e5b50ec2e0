/* Two figures at a time from a table; fractions as integers, which most of them are when looked at closely. */
#include "agent/metrics_number.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

#define DECIMALS_MAX 18u
#define EXACT_MAX 9007199254740992.0 /* 2^53: integers up to it have a double of their own */

static const uint64_t powers[DECIMALS_MAX + 1] = {
    1ull, 10ull, 100ull, 1000ull, 10000ull, 100000ull, 1000000ull, 10000000ull, 100000000ull, 1000000000ull,
    10000000000ull, 100000000000ull, 1000000000000ull, 10000000000000ull, 100000000000000ull, 1000000000000000ull,
    10000000000000000ull, 100000000000000000ull, 1000000000000000000ull,
};

static size_t write_u64(char *text, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char figures[20];
    size_t at = sizeof figures;
    while (value >= 100) {
        at -= 2;
        memcpy(figures + at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(figures + at, pairs + value * 2, 2);
    } else {
        figures[--at] = (char)('0' + value);
    }
    memcpy(text, figures + at, sizeof figures - at);
    return sizeof figures - at;
}

/* The fraction part / 10^decimals behind a point, without zeros at its end; nothing when it is 0. */
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

size_t metrics_number_u64(char *text, uint64_t value, unsigned decimals)
{
    if (decimals == 0)
        return write_u64(text, value);
    uint64_t power = powers[decimals < DECIMALS_MAX ? decimals : DECIMALS_MAX];
    size_t size = write_u64(text, value / power);
    return size + write_fraction(text + size, value % power, decimals);
}

size_t metrics_number_i64(char *text, int64_t value, unsigned decimals)
{
    if (value >= 0)
        return metrics_number_u64(text, (uint64_t)value, decimals);
    text[0] = '-';
    return 1 + metrics_number_u64(text + 1, 0 - (uint64_t)value, decimals);
}

static size_t copy(char *text, const char *what)
{
    size_t size = strlen(what);
    memcpy(text, what, size);
    return size;
}

/* Sensors give numbers of few decimals: then the integer of that many decimals, divided, is the same number again. */
size_t metrics_number_f64(char *text, double value)
{
    if (isnan(value))
        return copy(text, "NaN");
    if (isinf(value))
        return copy(text, value > 0 ? "+Inf" : "-Inf");
    for (unsigned decimals = 0; decimals <= 6; decimals += 3) {
        double power = (double)powers[decimals], shifted = round(value * power);
        if (fabs(shifted) < EXACT_MAX && shifted / power == value)
            return metrics_number_i64(text, (int64_t)shifted, decimals);
    }
    return copy(text, text_f64(value).s);
}
