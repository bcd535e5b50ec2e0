/* Called for hundreds of numbers per tick, so that it matters how fast this is. */
#include "base/scan.h"

#include <stddef.h>
#include <string.h>

#define FITS_DIGITS 19 /* any number with this many digits fits into 64 bits */

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t') /* faster than strspn, which builds a table first */
        at++;
    return at;
}

static bool fits(const char *digit, const char *end)
{
    uint64_t number = 0;
    for (; digit < end; digit++)
        if (__builtin_mul_overflow(number, 10u, &number)
            || __builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number))
            return false;
    return true;
}

/* Overflow is checked only for numbers with more digits than always fit. */
bool scan_u64(const char **at, uint64_t *value)
{
    const char *begin = skip_blanks(*at), *end = begin;
    uint64_t number = 0;
    for (unsigned digit; (digit = (unsigned)(*end - '0')) <= 9; end++)
        number = number * 10 + digit;
    if (end == begin || (end - begin > FITS_DIGITS && !fits(begin, end)))
        return false;
    *at = end;
    *value = number;
    return true;
}

/* One division of two integers, so that "0.42" gives exactly the literal 0.42. */
bool scan_decimal(const char **at, double *value)
{
    uint64_t whole, scale = 1;
    const char *digit = *at;
    if (!scan_u64(&digit, &whole))
        return false;
    *value = (double)whole;
    if (*digit == '.') {
        bool is_exact = whole < 1000000000; /* with six decimals it still fits into a double */
        for (digit++; *digit >= '0' && *digit <= '9'; digit++) {
            if (!is_exact || scale >= 1000000)
                continue;
            whole = whole * 10 + (uint64_t)(*digit - '0');
            scale *= 10;
        }
        *value = (double)whole / (double)scale;
    }
    *at = digit;
    return true;
}

const char *scan_next_line(const char *text)
{
    const char *newline = strchr(text, '\n');
    return newline && newline[1] ? newline + 1 : NULL;
}

const char *scan_line(const char *text, const char *key)
{
    size_t size = strlen(key);
    for (const char *line = text; line; line = scan_next_line(line))
        if (!strncmp(line, key, size))
            return line + size;
    return NULL;
}

bool scan_line_u64(const char *text, const char *key, uint64_t *value)
{
    const char *at = scan_line(text, key);
    return at && scan_u64(&at, value);
}
