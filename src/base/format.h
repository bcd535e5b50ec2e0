/* Numbers formatted for people: durations, bytes, counts, times. The reverse is base/parse.h. */
#ifndef SONDE_BASE_FORMAT_H
#define SONDE_BASE_FORMAT_H

#include <stdint.h>

/* A short ASCII string by value: printf("%s", format_duration(ns).s). */
struct format_text {
    char s[40];
};

struct format_text format_duration(uint64_t ns); /* "850 ns", "250 ms", "1.5 s", "2 min 03 s", "2 h 03 min", "3 d 04 h" */
struct format_text format_bytes(uint64_t bytes); /* "512 B", "1.2 GiB" */
struct format_text format_count(uint64_t count); /* "1,998" */
struct format_text format_duration_short(uint64_t ns); /* for tables, 6 wide below 100 days: "25ms", "1.5s", "12m03s" */
struct format_text format_bytes_short(uint64_t bytes); /* for tables, at most 4 wide: "512", "1.2G", "60M" */
struct format_text format_milli(uint64_t milli); /* 1500 gives "1.5", 2000 gives "2": cores, loads */
struct format_text format_tenths(uint64_t milli); /* 1500 gives "1.5", 2000 gives "2.0" */
struct format_text format_f64(double value);     /* the shortest string that parses to the same number: "0.1", "1e+300" */

/* Local time: "2026-11-15 20:17:05". */
struct format_text format_time(uint64_t time_ns);

/* Local time with ns and offset, for programs: "2026-11-15T20:17:05.123456789+01:00". */
struct format_text format_time_iso(uint64_t time_ns);

#endif
