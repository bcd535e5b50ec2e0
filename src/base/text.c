/* Formats for people. Three digits that count, and one blank before the unit. */
#include "base/text.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* value / scale with one decimal below 100, none above. */
static struct text scaled(uint64_t value, uint64_t scale, const char *unit)
{
    struct text text;
    double amount = (double)value / (double)scale;
    snprintf(text.s, sizeof text.s, amount < 99.95 ? "%.1f %s" : "%.0f %s", amount, unit);
    return text;
}

static struct text two_units(uint64_t large, const char *large_unit, uint64_t small, const char *small_unit)
{
    struct text text;
    snprintf(text.s, sizeof text.s, "%" PRIu64 " %s %02" PRIu64 " %s", large, large_unit, small, small_unit);
    return text;
}

struct text text_duration(uint64_t ns)
{
    if (ns == 0)
        return (struct text){ "0 s" };
    if (ns < NS_PER_US) {
        struct text text;
        snprintf(text.s, sizeof text.s, "%" PRIu64 " ns", ns);
        return text;
    }
    /* Each limit is where rounding would reach the next unit: 999.6 ms is 1.0 s. */
    if (ns < 999500)
        return scaled(ns, NS_PER_US, "us");
    if (ns < 999500 * NS_PER_US)
        return scaled(ns, NS_PER_MS, "ms");
    if (ns < 59950 * NS_PER_MS)
        return scaled(ns, NS_PER_S, "s");
    uint64_t s = (ns - NS_PER_S / 2) / NS_PER_S + 1; /* rounded, without overflow */
    if (s < 3600)
        return two_units(s / 60, "min", s % 60, "s");
    uint64_t min = (s + 30) / 60;
    if (min < 24 * 60)
        return two_units(min / 60, "h", min % 60, "min");
    uint64_t h = (min + 30) / 60;
    return two_units(h / 24, "d", h % 24, "h");
}

struct text text_bytes(uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (bytes < 1024) {
        struct text text;
        snprintf(text.s, sizeof text.s, "%" PRIu64 " B", bytes);
        return text;
    }
    size_t unit = 1;
    uint64_t scale = 1024;
    while (unit < 6 && (double)bytes / (double)scale >= 999.5) {
        scale *= 1024;
        unit++;
    }
    return scaled(bytes, scale, units[unit]);
}

struct text text_duration_short(uint64_t ns)
{
    struct text text = text_duration(ns);
    char *to = text.s;
    for (const char *from = text.s; *from; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    char *min = strstr(text.s, "min");
    if (min)
        memmove(min + 1, min + 3, strlen(min + 3) + 1);
    return text;
}

struct text text_bytes_short(uint64_t bytes)
{
    struct text text = text_bytes(bytes);
    char *unit = strchr(text.s, ' ');
    unit[0] = bytes < 1024 ? '\0' : unit[1];
    unit[1] = '\0';
    return text;
}

struct text text_count(uint64_t count)
{
    char digits[24];
    size_t size = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count);
    struct text text;
    char *to = text.s;
    for (size_t i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

struct text text_milli(uint64_t milli)
{
    struct text text;
    if (milli % 1000 == 0)
        snprintf(text.s, sizeof text.s, "%" PRIu64, milli / 1000);
    else
        snprintf(text.s, sizeof text.s, milli < 1000 ? "%.2f" : "%.1f", (double)milli / 1000);
    return text;
}

struct text text_f64(double value)
{
    struct text text;
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

struct text text_time(uint64_t time_ns)
{
    struct text text = { "?" };
    struct tm tm;
    if (local_time(time_ns, &tm))
        strftime(text.s, sizeof text.s, "%Y-%m-%d %H:%M:%S", &tm);
    return text;
}

struct text text_time_iso(uint64_t time_ns)
{
    struct text text = { "?" };
    struct tm tm;
    if (!local_time(time_ns, &tm))
        return text;
    size_t size = strftime(text.s, sizeof text.s, "%Y-%m-%dT%H:%M:%S", &tm);
    long offset_min = tm.tm_gmtoff / 60;
    unsigned away = (unsigned)(offset_min < 0 ? -offset_min : offset_min);
    snprintf(text.s + size, sizeof text.s - size, ".%09u%c%02u:%02u", (unsigned)(time_ns % NS_PER_S),
             offset_min < 0 ? '-' : '+', away / 60 % 100, away % 60);
    return text;
}
