/* Formats numbers and names for the sentences of advice and report. */
#include "analysis/phrase.h"

#include "base/utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS 24

uint64_t phrase_round(double value)
{
    if (!(value > 0))
        return 0;
    return value + 0.5 < 18446744073709551616.0 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

struct format_text phrase_count(double count)
{
    return format_count(phrase_round(count));
}

struct format_text phrase_plural(uint64_t count, const char *one, const char *many)
{
    struct format_text text;
    snprintf(text.s, sizeof text.s, "%.24s %.14s", format_count(count).s, count == 1 ? one : many);
    return text;
}

struct format_text phrase_percent(double share)
{
    struct format_text text;
    if (share > 0 && share < 0.005)
        snprintf(text.s, sizeof text.s, "under 1 %%");
    else if (share > 0.995 && share < 1)
        snprintf(text.s, sizeof text.s, "over 99 %%");
    else
        snprintf(text.s, sizeof text.s, "%.0f %%", share * 100);
    return text;
}

struct format_text phrase_fraction(double share)
{
    static const struct { double share, slack; const char *word; } parts[] = {
        { 1.0, 0.04, "Nearly all" }, { 0.75, 0.03, "Three quarters" }, { 0.667, 0.03, "Two thirds" },
        { 0.5, 0.04, "Half" }, { 0.333, 0.03, "A third" }, { 0.25, 0.03, "A quarter" },
    };
    struct format_text text = phrase_percent(share), number = text;
    text.s[0] = (char)toupper((unsigned char)text.s[0]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (fabs(share - parts[i].share) > parts[i].slack)
            continue;
        snprintf(text.s, sizeof text.s, "%s (%.16s)", parts[i].word, number.s);
        break;
    }
    return text;
}

struct format_text phrase_duration(double seconds)
{
    return format_duration(phrase_round(seconds * 1e9));
}

struct format_text phrase_cores(double cores)
{
    struct format_text text;
    if (cores >= 1e6) { /* implausible, but it must not break the layout */
        snprintf(text.s, sizeof text.s, "%.1g", cores);
        return text;
    }
    if (cores > 0 && cores < 0.005)
        return (struct format_text){ "under 0.01" };
    int places = cores < 0.095 ? 2 : cores >= 10000 || fabs(cores - round(cores)) < 0.05 ? 0 : 1;
    snprintf(text.s, sizeof text.s, "%.*f", places, cores);
    return text;
}

struct format_text phrase_bytes(double bytes)
{
    return format_bytes(phrase_round(bytes));
}

struct format_text phrase_name(struct bytes name)
{
    struct format_text text;
    struct buf safe;
    buf_init(&safe, 4096);
    utf8_add_fit(&safe, name, NAME_COLUMNS, true);
    /* Combining characters take no column but could still fill the buffer: then only ASCII is kept. */
    if (safe.size >= sizeof text.s) {
        buf_reset(&safe);
        utf8_add_fit(&safe, name, NAME_COLUMNS, false);
    }
    snprintf(text.s, sizeof text.s, "%s", name.size ? buf_text(&safe) : "?");
    buf_clear(&safe);
    return text;
}

struct format_text phrase_offset(double seconds)
{
    struct format_text text;
    uint64_t all = phrase_round(seconds);
    if (all >= 3600)
        snprintf(text.s, sizeof text.s, "%" PRIu64 ":%02u:%02u", all / 3600, (unsigned)(all / 60 % 60),
                 (unsigned)(all % 60));
    else
        snprintf(text.s, sizeof text.s, "%u:%02u", (unsigned)(all / 60), (unsigned)(all % 60));
    return text;
}

struct format_text phrase_interval(double seconds)
{
    struct format_text text;
    if (seconds < 1)
        snprintf(text.s, sizeof text.s, "%.0fms", seconds * 1000);
    else
        snprintf(text.s, sizeof text.s, "%.0fs", seconds);
    return text;
}

struct format_text phrase_signal(int number)
{
    struct format_text text;
    const char *name = sigabbrev_np(number), *meaning = sigdescr_np(number);
    if (name && meaning)
        snprintf(text.s, sizeof text.s, "SIG%s (%c%s)", name, tolower((unsigned char)meaning[0]), meaning + 1);
    else
        snprintf(text.s, sizeof text.s, "signal %d", number);
    return text;
}
