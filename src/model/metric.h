/* The description of a metric, and its value. */
#ifndef SONDE_MODEL_METRIC_H
#define SONDE_MODEL_METRIC_H

#include <stdint.h>

enum metric_kind {
    COUNTER, /* only increases; use differences, and sums over processes */
    GAUGE,   /* a level; use the maximum over processes, not the sum */
};

enum metric_type { U64, I64, F64 };

struct metric {
    const char *name;
    const char *unit; /* "us", "ns", "KB", "B", "1" */
    enum metric_kind kind;
    enum metric_type type;
    const char *help; /* one line */
    const char *source; /* its name at the source, such as "MemTotal" in /proc/meminfo; NULL: same as name */
};

union value {
    uint64_t u64;
    int64_t i64;
    double f64;
};

#endif
