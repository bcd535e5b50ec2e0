/* Three significant digits, and a space before the unit. */
#include "base/format.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct style {
    const char *gap;     /* between number and unit */
    uint64_t tenths_below; /* smaller numbers have one decimal */
    const char *minutes;
};

static const struct style full = { " ", 1000, "min" }, brief = { "", 100, "m" };

/* Not snprintf, which took a third of the time of a list of ten thousand jobs. */
static char *put_text(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    *to = '\0';
    return to;
}

/* value with count digits, zero-padded. */
static char *put_digits(char *to, uint64_t value, unsigned count)
{
    for (unsigned i = count; i > 0; i--, value /= 10)
        to[i - 1] = (char)('0' + value % 10);
    to[count] = '\0';
    return to + count;
}

static char *put_number(char *to, uint64_t value)
{
    unsigned digit_count = 1;
    for (uint64_t rest = value; rest >= 10; rest /= 10)
        digit_count++;
    return put_digits(to, value, digit_count);
}

static char *put_tenths(char *to, uint64_t tenths)
{
    to = put_text(put_number(to, tenths / 10), ".");
    return put_digits(to, tenths % 10, 1);
}

static char *put_unit(char *to, const char *unit, const struct style *style)
{
    return put_text(put_text(to, style->gap), unit);
}

/* value * times / scale, rounded; scale is at most 2^60, times at most 10. */
static uint64_t ratio(uint64_t value, uint64_t scale, uint64_t times)
{
    return value / scale * times + (value % scale * times + scale / 2) / scale;
}

static struct format_text whole(uint64_t value, const char *unit, const struct style *style)
{
    struct format_text text;
    put_unit(put_number(text.s, value), unit, style);
    return text;
}

static struct format_text scaled(uint64_t value, uint64_t scale, const char *unit, const struct style *style)
{
    struct format_text text;
    uint64_t tenths = ratio(value, scale, 10);
    char *end = tenths < style->tenths_below ? put_tenths(text.s, tenths) : put_number(text.s, ratio(value, scale, 1));
    put_unit(end, unit, style);
    return text;
}

static struct format_text two_units(uint64_t large, const char *large_unit, uint64_t small, const char *small_unit,
                             const struct style *style)
{
    struct format_text text;
    char *end = put_text(put_unit(put_number(text.s, large), large_unit, style), style->gap);
    put_unit(put_digits(end, small, 2), small_unit, style);
    return text;
}

static struct format_text duration(uint64_t ns, const struct style *style)
{
    if (ns < NS_PER_US)
        return whole(ns, ns ? "ns" : "s", style);
    /* Each limit is where rounding reaches the next unit: 999.6 ms is 1.0 s. */
    if (ns < 999500)
        return scaled(ns, NS_PER_US, "us", style);
    if (ns < 999500 * NS_PER_US)
        return scaled(ns, NS_PER_MS, "ms", style);
    if (ns < (style == &full ? 59950 : 59500) * NS_PER_MS)
        return scaled(ns, NS_PER_S, "s", style);
    uint64_t s = (ns - NS_PER_S / 2) / NS_PER_S + 1; /* rounded, without overflow */
    if (s < 3600)
        return two_units(s / 60, style->minutes, s % 60, "s", style);
    uint64_t min = (s + 30) / 60;
    if (min < 24 * 60)
        return two_units(min / 60, "h", min % 60, style->minutes, style);
    uint64_t h = (min + 30) / 60;
    return two_units(h / 24, "d", h % 24, "h", style);
}

struct format_text format_duration(uint64_t ns)
{
    return duration(ns, &full);
}

struct format_text format_duration_short(uint64_t ns)
{
    return duration(ns, &brief);
}

static struct format_text bytes_in(uint64_t bytes, const char *const units[7], const struct style *style)
{
    if (bytes < 1000 || (bytes < 1024 && style == &full))
        return whole(bytes, units[0], style);
    size_t unit = 1;
    uint64_t scale = 1024;
    while (unit < 6 && (double)bytes / (double)scale >= 999.5) {
        scale *= 1024;
        unit++;
    }
    return scaled(bytes, scale, units[unit], style);
}

struct format_text format_bytes(uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    return bytes_in(bytes, units, &full);
}

struct format_text format_bytes_short(uint64_t bytes)
{
    static const char *const units[] = { "", "K", "M", "G", "T", "P", "E" };
    return bytes_in(bytes, units, &brief);
}

struct format_text format_count(uint64_t count)
{
    char digits[24];
    size_t size = (size_t)(put_number(digits, count) - digits);
    struct format_text text;
    char *to = text.s;
    for (size_t i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

struct format_text format_milli(uint64_t milli)
{
    struct format_text text;
    uint64_t hundredths = ratio(milli, 10, 1);
    if (milli % 1000 == 0)
        put_number(text.s, milli / 1000);
    else if (milli < 1000)
        put_digits(put_text(put_number(text.s, hundredths / 100), "."), hundredths % 100, 2);
    else
        return format_tenths(milli);
    return text;
}

struct format_text format_tenths(uint64_t milli)
{
    struct format_text text;
    put_tenths(text.s, ratio(milli, 100, 1));
    return text;
}

/* Most fractions are multiples of 1e-6 or 1e-9. Up to 15 digits, a decimal number and its double correspond uniquely, so if
 * this one converts back it is the shortest. */
static bool put_decimal(struct format_text *text, double value, uint64_t parts, unsigned places)
{
    double scaled = value * (double)parts;
    if (!(value >= 1e-4 && scaled < 1e15))
        return false;
    uint64_t number = (uint64_t)(scaled + 0.5);
    if ((double)number / (double)parts != value)
        return false;
    uint64_t whole = number / parts;
    unsigned digit_count = 1;
    for (uint64_t rest = whole; rest >= 10; rest /= 10)
        digit_count++;
    char *end = put_digits(text->s, whole, digit_count);
    *end++ = '.';
    end = put_digits(end, number % parts, places);
    while (end[-1] == '0')
        end--;
    end -= end[-1] == '.';
    *end = '\0';
    return true;
}

struct format_text format_f64(double value)
{
    struct format_text text;
    if (put_decimal(&text, value, 1000000, 6) || put_decimal(&text, value, NS_PER_S, 9))
        return text;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text.s, sizeof text.s, "%.*g", digits, value);
        if (strtod(text.s, NULL) == value)
            break;
    }
    return text;
}

static bool local_time(uint64_t time_ns, struct tm *tm)
{
    time_t s = (time_t)(time_ns / NS_PER_S);
    return localtime_r(&s, tm) != NULL;
}

struct format_text format_time(uint64_t time_ns)
{
    struct format_text text = { "?" };
    struct tm tm;
    if (local_time(time_ns, &tm))
        strftime(text.s, sizeof text.s, "%Y-%m-%d %H:%M:%S", &tm);
    return text;
}

struct format_text format_time_iso(uint64_t time_ns)
{
    struct format_text text = { "?" };
    struct tm tm;
    if (!local_time(time_ns, &tm))
        return text;
    long offset_min = tm.tm_gmtoff / 60;
    unsigned minutes = (unsigned)(offset_min < 0 ? -offset_min : offset_min);
    const struct {
        char before;
        unsigned value, count;
    } parts[] = {
        { '-', (unsigned)tm.tm_mon + 1, 2 }, { '-', (unsigned)tm.tm_mday, 2 }, { 'T', (unsigned)tm.tm_hour, 2 },
        { ':', (unsigned)tm.tm_min, 2 }, { ':', (unsigned)tm.tm_sec, 2 }, { '.', (unsigned)(time_ns % NS_PER_S), 9 },
        { offset_min < 0 ? '-' : '+', minutes / 60, 2 }, { ':', minutes % 60, 2 },
    };
    char *to = put_digits(text.s, (uint64_t)tm.tm_year + 1900, 4); /* 64 bits of ns end in 2554 */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *to++ = parts[i].before;
        to = put_digits(to, parts[i].value, parts[i].count);
    }
    *to = '\0';
    return text;
}
