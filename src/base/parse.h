/* Numbers, sizes, durations and times as people type them in options and configuration files. */
#ifndef SONDE_BASE_PARSE_H
#define SONDE_BASE_PARSE_H

#include "base/err.h"

#include <stdint.h>

/* A decimal number and nothing else. USAGE: not a number, or over 64 bits. */
enum err parse_u64(const char *string, uint64_t *value);

/* "4096", "512M", "4G", "1GiB", "2 TB": all units are powers of 1024. USAGE: invalid, or over 64 bits. */
enum err parse_bytes(const char *string, uint64_t *bytes);

/* "1s", "250ms", "1.5 h", "2h30m", "2 h 03 min", "1 week"; a number without a unit is in seconds. USAGE: invalid, or over
 * 64 bits of ns. */
enum err parse_duration(const char *string, uint64_t *ns);

/* A point in time, local unless a zone is given: "2026-11-15", "2026-11-15 08:30", "2026-11-15T08:30:12.5Z",
 * "2026-11-15T08:30+01:00", "08:30" (today), "@1763200000" (s since 1970), "now", "today", "yesterday", "2 hours ago", or
 * a duration, which means that long before now_ns. USAGE: invalid, or a number that could be a year, since 2026 hardly
 * means 2,026 seconds ago. */
enum err parse_time(const char *string, uint64_t now_ns, uint64_t *time_ns);

#endif
