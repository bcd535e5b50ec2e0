/* Numbers and lines in texts of the kernel. */
#include "base/scan.h"

#include <stddef.h>
#include <string.h>

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t') /* strspn builds a table first: dearer than the few blanks that there are */
        at++;
    return at;
}

bool scan_u64(const char **at, uint64_t *value)
{
    const char *digit = skip_blanks(*at);
    uint64_t number = 0;
    if (*digit < '0' || *digit > '9')
        return false;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        if (__builtin_mul_overflow(number, 10u, &number)
            || __builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number))
            return false;
    *at = digit;
    *value = number;
    return true;
}

/* One division of two whole numbers, so that "0.42" is the same as 0.42 in a program. */
bool scan_decimal(const char **at, double *value)
{
    uint64_t whole, scale = 1;
    const char *digit = *at;
    if (!scan_u64(&digit, &whole))
        return false;
    *value = (double)whole;
    if (*digit == '.') {
        bool is_exact = whole < 1000000000; /* with six digits behind the point it fits into a double */
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
