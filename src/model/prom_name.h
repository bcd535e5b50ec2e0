/* Names of Prometheus: sonde_<set>_<metric>_<base unit>[_total], and how our values become ones of that unit. */
#ifndef SONDE_MODEL_PROM_NAME_H
#define SONDE_MODEL_PROM_NAME_H

#include "model/batch.h"

#define METRICS_NAME_MAX 256

struct metrics_name {
    char text[METRICS_NAME_MAX]; /* without "_total" */
    size_t size;
    const char *unit;            /* the base unit, which text ends with; "": none */
    uint64_t times;              /* a value, times this … */
    unsigned decimals;           /* … and divided by ten as often as this, is in the base unit */
    bool is_counter;
};

/* False: no name can be made of it. */
bool metrics_name_of(const struct set *set, const struct metric *metric, struct metrics_name *name);

#endif
