/* Numbers and names as they stand in sentences: from the rules into advice and report. */
#include "analysis/phrase.h"

#include "base/utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS 24

uint64_t say_whole(double value)
{
    if (!(value > 0))
        return 0;
    return value + 0.5 < 18446744073709551616.0 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

struct text say_count(double count)
{
    return text_count(say_whole(count));
}

struct text say_many(uint64_t count, const char *one, const char *many)
{
    struct text text;
    snprintf(text.s, sizeof text.s, "%.24s %.14s", text_count(count).s, count == 1 ? one : many);
    return text;
}

struct text say_share(double share)
{
    struct text text;
    if (share > 0 && share < 0.005)
        snprintf(text.s, sizeof text.s, "under 1 %%");
    else if (share > 0.995 && share < 1)
        snprintf(text.s, sizeof text.s, "over 99 %%");
    else
        snprintf(text.s, sizeof text.s, "%.0f %%", share * 100);
    return text;
}

struct text say_part(double share)
{
    static const struct { double share, slack; const char *word; } parts[] = {
        { 1.0, 0.04, "Nearly all" }, { 0.75, 0.03, "Three quarters" }, { 0.667, 0.03, "Two thirds" },
        { 0.5, 0.04, "Half" }, { 0.333, 0.03, "A third" }, { 0.25, 0.03, "A quarter" },
    };
    struct text text = say_share(share), number = text;
    text.s[0] = (char)toupper((unsigned char)text.s[0]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (fabs(share - parts[i].share) > parts[i].slack)
            continue;
        snprintf(text.s, sizeof text.s, "%s (%.16s)", parts[i].word, number.s);
        break;
    }
    return text;
}

struct text say_seconds(double seconds)
{
    return text_duration(say_whole(seconds * 1e9));
}

struct text say_cores(double cores)
{
    struct text text;
    if (cores >= 1e6) { /* nonsense, but it must not burst a line */
        snprintf(text.s, sizeof text.s, "%.2g", cores);
        return text;
    }
    if (cores > 0 && cores < 0.005)
        return (struct text){ "under 0.01" };
    int places = cores < 0.095 ? 2 : cores >= 10000 || fabs(cores - round(cores)) < 0.05 ? 0 : 1;
    snprintf(text.s, sizeof text.s, "%.*f", places, cores);
    return text;
}

struct text say_bytes(double bytes)
{
    return text_bytes(say_whole(bytes));
}

struct text say_name(struct bytes name)
{
    struct text text;
    struct buf safe;
    buf_init(&safe, 4096);
    utf8_add_fit(&safe, name, NAME_COLUMNS, true);
    /* Marks that take no column could still fill the text: then only ASCII is kept. */
    if (safe.size >= sizeof text.s) {
        buf_reset(&safe);
        utf8_add_fit(&safe, name, NAME_COLUMNS, false);
    }
    snprintf(text.s, sizeof text.s, "%s", name.size ? buf_text(&safe) : "?");
    buf_clear(&safe);
    return text;
}

struct text say_offset(double seconds)
{
    struct text text;
    uint64_t all = say_whole(seconds);
    if (all >= 3600)
        snprintf(text.s, sizeof text.s, "%" PRIu64 ":%02u:%02u", all / 3600, (unsigned)(all / 60 % 60),
                 (unsigned)(all % 60));
    else
        snprintf(text.s, sizeof text.s, "%u:%02u", (unsigned)(all / 60), (unsigned)(all % 60));
    return text;
}

struct text say_period(double seconds)
{
    struct text text;
    if (seconds < 1)
        snprintf(text.s, sizeof text.s, "%.0fms", seconds * 1000);
    else
        snprintf(text.s, sizeof text.s, "%.0fs", seconds);
    return text;
}

struct text say_signal(int number)
{
    struct text text;
    const char *name = sigabbrev_np(number), *meaning = sigdescr_np(number);
    if (name && meaning)
        snprintf(text.s, sizeof text.s, "SIG%s (%c%s)", name, tolower((unsigned char)meaning[0]), meaning + 1);
    else
        snprintf(text.s, sizeof text.s, "signal %d", number);
    return text;
}
