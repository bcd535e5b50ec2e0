/* Numbers as people read and write them: durations, bytes, counts, times. (Bytes on a screen: base/utf8.h.) */
#ifndef SONDE_BASE_TEXT_H
#define SONDE_BASE_TEXT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A short text by value, ASCII: printf("%s", text_duration(ns).s). */
struct text {
    char s[40];
};

struct text text_duration(uint64_t ns); /* "850 ns", "250 ms", "1.5 s", "2 min 03 s", "2 h 03 min", "3 d 04 h" */
struct text text_bytes(uint64_t bytes); /* "512 B", "1.2 GiB" */
struct text text_count(uint64_t count); /* "1,998" */
struct text text_duration_short(uint64_t ns); /* for tables, 6 wide below 100 days: "25ms", "1.5s", "12m03s" */
struct text text_bytes_short(uint64_t bytes); /* for tables, at most 4 wide: "512", "1.2G", "60M" */
struct text text_milli(uint64_t milli); /* 1500 gives "1.5", 2000 gives "2": cores, loads */
struct text text_tenths(uint64_t milli); /* 1500 gives "1.5", 2000 gives "2.0" */
struct text text_f64(double value);     /* the shortest form that reads back as the same number: "0.1", "1e+300" */

/* Local time: "2026-11-15 20:17:05". */
struct text text_time(uint64_t time_ns);

/* Local time with ns and offset, for machines: "2026-11-15T20:17:05.123456789+01:00". */
struct text text_time_iso(uint64_t time_ns);

/* A whole decimal number, nothing else. USAGE when it is none or does not fit. */
enum err text_parse_u64(const char *text, uint64_t *value);

/* "4096", "512M", "4G", "1GiB", "2 TB": all of them powers of 1024. USAGE when it is none or does not fit. */
enum err text_parse_bytes(const char *text, uint64_t *bytes);

/* "1s", "250ms", "1.5 h", "2h30m", "2 h 03 min", "1 week"; a bare number is seconds. USAGE when it is none or does not
 * fit into 64 bits of ns. */
enum err text_parse_duration(const char *text, uint64_t *ns);

/* A moment, in local time where no zone is given: "2026-11-15", "2026-11-15 08:30", "2026-11-15T08:30:12.5Z",
 * "2026-11-15T08:30+01:00", "08:30" (today), "@1763200000" (s since 1970), "now", "today", "yesterday", "2 hours ago", or
 * a bare duration, which is that long ago. now_ns is what the words refer to. USAGE when it is none of these, or a bare
 * number that may be meant as a year: 2026 is not 2,026 seconds ago. */
enum err text_parse_time(const char *text, uint64_t now_ns, uint64_t *time_ns);

#endif
