/* Parsed by hand instead of scanf, so that every overflow is detected. */
#include "base/parse.h"

#include "base/clock.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
}

/* At least one digit. False: none, or overflow. */
static bool read_number(const char **at, uint64_t *value)
{
    if (!is_digit(**at))
        return false;
    uint64_t sum = 0;
    for (; is_digit(**at); ++*at)
        if (__builtin_mul_overflow(sum, 10u, &sum) || __builtin_add_overflow(sum, (uint64_t)(**at - '0'), &sum))
            return false;
    *value = sum;
    return true;
}

enum err parse_u64(const char *text, uint64_t *value)
{
    uint64_t number;
    if (!read_number(&text, &number) || *text)
        return USAGE;
    *value = number;
    return OK;
}

enum err parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "kmgtp";
    uint64_t number;
    skip_blanks(&text);
    if (!read_number(&text, &number))
        return USAGE;
    skip_blanks(&text);
    const char *unit = *text ? strchr(units, *text | 0x20) : NULL;
    unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
    text += unit ? 1 : 0;
    bool ends = !*text || strcasecmp(text, "b") == 0 || (unit && strcasecmp(text, "ib") == 0);
    if (!ends || number > UINT64_MAX >> shift)
        return USAGE;
    *bytes = number << shift;
    return OK;
}

/* The unit at *at, in ns; 0 when there is none such. */
static uint64_t read_unit(const char **at)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        { "ns", 1 }, { "us", NS_PER_US }, { "ms", NS_PER_MS },
        { "s", NS_PER_S }, { "sec", NS_PER_S }, { "secs", NS_PER_S }, { "second", NS_PER_S }, { "seconds", NS_PER_S },
        { "m", 60 * NS_PER_S }, { "min", 60 * NS_PER_S }, { "mins", 60 * NS_PER_S }, { "minute", 60 * NS_PER_S },
        { "minutes", 60 * NS_PER_S },
        { "h", 3600 * NS_PER_S }, { "hr", 3600 * NS_PER_S }, { "hour", 3600 * NS_PER_S }, { "hours", 3600 * NS_PER_S },
        { "d", 86400 * NS_PER_S }, { "day", 86400 * NS_PER_S }, { "days", 86400 * NS_PER_S },
        { "w", 604800 * NS_PER_S }, { "week", 604800 * NS_PER_S }, { "weeks", 604800 * NS_PER_S },
    };
    static const char *const micro[] = { "µs", "μs" }; /* the sign, the Greek letter */
    for (size_t i = 0; i < 2; i++)
        if (strncmp(*at, micro[i], strlen(micro[i])) == 0) {
            *at += strlen(micro[i]);
            return NS_PER_US;
        }
    size_t size = 0;
    while (is_letter((*at)[size]))
        size++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == size && strncasecmp(units[i].name, *at, size) == 0) {
            *at += size;
            return units[i].ns;
        }
    return 0;
}

/* Decimals of a number whose unit is in ns. */
static uint64_t read_fraction(const char *digits, const char *end, uint64_t unit)
{
    uint64_t sum = 0;
    for (; digits < end; digits++) {
        unit /= 10;
        sum += (uint64_t)(*digits - '0') * unit;
    }
    return sum;
}

/* "1.5 h": adds one number with its unit to *sum. bare: a number without a unit is seconds. */
static bool read_amount(const char **at, bool bare, uint64_t *sum)
{
    uint64_t whole, ns;
    if (!read_number(at, &whole))
        return false;
    const char *point = *at, *end = *at;
    if (*end == '.') {
        point = ++end;
        while (is_digit(*end))
            end++;
        if (end == point)
            return false;
        *at = end;
    }
    skip_blanks(at);
    uint64_t unit = bare && !**at ? NS_PER_S : read_unit(at);
    if (unit == 0 || __builtin_mul_overflow(whole, unit, &ns))
        return false;
    return !__builtin_add_overflow(ns, read_fraction(point, end, unit), &ns) && !__builtin_add_overflow(*sum, ns, sum);
}

/* One or more amounts. */
static bool read_duration(const char **at, uint64_t *ns)
{
    uint64_t sum = 0;
    skip_blanks(at);
    bool first = true;
    do {
        if (!read_amount(at, first, &sum))
            return false;
        first = false;
        skip_blanks(at);
    } while (is_digit(**at));
    *ns = sum;
    return true;
}

enum err parse_duration(const char *text, uint64_t *ns)
{
    uint64_t sum;
    if (!read_duration(&text, &sum) || *text)
        return USAGE;
    *ns = sum;
    return OK;
}

/* Exactly size digits, with a value from low to high. */
static bool read_digits(const char **at, size_t size, int low, int high, int *value)
{
    int sum = 0;
    for (size_t i = 0; i < size; i++, ++*at) {
        if (!is_digit(**at))
            return false;
        sum = sum * 10 + (**at - '0');
    }
    *value = sum;
    return sum >= low && sum <= high;
}

static bool read_char(const char **at, char c)
{
    if (**at != c)
        return false;
    ++*at;
    return true;
}

static bool read_date(const char **at, struct tm *tm)
{
    int year, month;
    if (!read_digits(at, 4, 1970, 2554, &year) || !read_char(at, '-') || !read_digits(at, 2, 1, 12, &month) ||
        !read_char(at, '-') || !read_digits(at, 2, 1, 31, &tm->tm_mday))
        return false;
    tm->tm_year = year - 1900;
    tm->tm_mon = month - 1;
    return true;
}

/* "08:30", "08:30:12", "08:30:12.25". */
static bool read_clock(const char **at, struct tm *tm, uint64_t *fraction_ns)
{
    *fraction_ns = 0;
    if (!read_digits(at, 2, 0, 23, &tm->tm_hour) || !read_char(at, ':') || !read_digits(at, 2, 0, 59, &tm->tm_min))
        return false;
    if (!read_char(at, ':'))
        return true;
    if (!read_digits(at, 2, 0, 60, &tm->tm_sec))
        return false;
    if (!read_char(at, '.'))
        return true;
    const char *digits = *at;
    while (is_digit(**at))
        ++*at;
    *fraction_ns = read_fraction(digits, *at, NS_PER_S);
    return *at > digits;
}

/* "Z", "+01:00", "-0530" or nothing (local). */
static bool read_zone(const char **at, bool *local, long *offset_s)
{
    *local = false;
    *offset_s = 0;
    if (read_char(at, 'Z'))
        return true;
    int sign = **at == '-' ? -1 : 1, hours, minutes;
    if (!read_char(at, '+') && !read_char(at, '-')) {
        *local = true;
        return true;
    }
    if (!read_digits(at, 2, 0, 14, &hours))
        return false;
    read_char(at, ':');
    if (!read_digits(at, 2, 0, 59, &minutes))
        return false;
    *offset_s = sign * (hours * 3600L + minutes * 60L);
    return true;
}

static bool same_day(const struct tm *a, const struct tm *b)
{
    return a->tm_mday == b->tm_mday && a->tm_mon == b->tm_mon && a->tm_year == b->tm_year;
}

static enum err from_tm(const struct tm *given, bool local, long offset_s, uint64_t fraction_ns, uint64_t *time_ns)
{
    struct tm tm = *given;
    tm.tm_isdst = -1;
    time_t s = local ? mktime(&tm) : timegm(&tm) - offset_s;
    if (given->tm_sec < 60 && !same_day(&tm, given)) /* 31 February */
        return USAGE;
    if (s < 0 || (uint64_t)s > UINT64_MAX / NS_PER_S - 1)
        return USAGE;
    *time_ns = (uint64_t)s * NS_PER_S + fraction_ns;
    return OK;
}

static enum err parse_date(const char *text, uint64_t *time_ns)
{
    struct tm tm = { 0 };
    uint64_t fraction_ns = 0;
    bool local = true;
    long offset_s = 0;
    if (!read_date(&text, &tm))
        return USAGE;
    if (*text && (!(read_char(&text, 'T') || read_char(&text, ' ')) || !read_clock(&text, &tm, &fraction_ns) ||
                  !read_zone(&text, &local, &offset_s)))
        return USAGE;
    return *text ? USAGE : from_tm(&tm, local, offset_s, fraction_ns, time_ns);
}

/* Midnight of the day days_before now, or a time on that day. */
static enum err parse_of_day(const char *clock, int days_before, uint64_t now_ns, uint64_t *time_ns)
{
    time_t now = (time_t)(now_ns / NS_PER_S);
    uint64_t fraction_ns = 0;
    struct tm tm;
    if (!localtime_r(&now, &tm))
        return USAGE;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_mday -= days_before;
    tm.tm_isdst = -1;
    if (mktime(&tm) < 0) /* normalizes the date */
        return USAGE;
    if (clock && (!read_clock(&clock, &tm, &fraction_ns) || *clock))
        return USAGE;
    return from_tm(&tm, true, 0, fraction_ns, time_ns);
}

static enum err parse_ago(const char *text, uint64_t now_ns, uint64_t *time_ns)
{
    uint64_t ns;
    if (!read_duration(&text, &ns) || ns > now_ns || (*text && strcmp(text, "ago") != 0))
        return USAGE;
    *time_ns = now_ns - ns;
    return OK;
}

static enum err parse_epoch(const char *text, uint64_t *time_ns)
{
    uint64_t s;
    const char *at = text;
    if (!read_number(&at, &s) || s > UINT64_MAX / NS_PER_S - 1)
        return USAGE;
    const char *point = *at == '.' ? at + 1 : at, *end = point;
    while (is_digit(*end))
        end++;
    if (*end || (*at == '.' && end == point))
        return USAGE;
    *time_ns = s * NS_PER_S + read_fraction(point, end, NS_PER_S);
    return OK;
}

/* Four digits from 1900 to 2999 and nothing else. */
static bool could_be_year(const char *text)
{
    uint64_t number;
    const char *at = text;
    if (!read_number(&at, &number) || at != text + 4)
        return false;
    skip_blanks(&at);
    return !*at && number >= 1900 && number < 3000;
}

enum err parse_time(const char *text, uint64_t now_ns, uint64_t *time_ns)
{
    skip_blanks(&text);
    if (strcmp(text, "now") == 0) {
        *time_ns = now_ns;
        return OK;
    }
    if (*text == '@')
        return parse_epoch(text + 1, time_ns);
    if (strcmp(text, "today") == 0)
        return parse_of_day(NULL, 0, now_ns, time_ns);
    if (strcmp(text, "yesterday") == 0)
        return parse_of_day(NULL, 1, now_ns, time_ns);
    if (strlen(text) > 4 && text[4] == '-')
        return parse_date(text, time_ns);
    if (strlen(text) > 2 && text[2] == ':')
        return parse_of_day(text, 0, now_ns, time_ns);
    return could_be_year(text) ? USAGE : parse_ago(text, now_ns, time_ns);
}
