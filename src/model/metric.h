/* What a number means: the description that every value meets. */
#ifndef SONDE_MODEL_METRIC_H
#define SONDE_MODEL_METRIC_H

#include <stdint.h>

enum metric_kind {
    COUNTER, /* grows; differences have a meaning, sums over processes too */
    GAUGE,   /* a level; the maximum over processes has a meaning, sums do not */
};

enum metric_type { U64, I64, F64 };

struct metric {
    const char *name;
    const char *unit; /* "us", "ns", "KB", "B", "1" */
    enum metric_kind kind;
    enum metric_type type;
    const char *help; /* one line */
    const char *source; /* what its source calls it, as "MemTotal" in /proc/meminfo; NULL: the same as name */
};

union value {
    uint64_t u64;
    int64_t i64;
    double f64;
};

#endif
