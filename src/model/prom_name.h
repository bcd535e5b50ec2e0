/* Names of Prometheus: sonde_<set>_<metric>_<base unit>[_total], and how our values become ones of that unit. */
#ifndef SONDE_MODEL_PROM_NAME_H
#define SONDE_MODEL_PROM_NAME_H

#include "model/batch.h"

#define PROM_NAME_MAX 256

struct prom_name {
    char text[PROM_NAME_MAX]; /* without "_total" */
    size_t size;
    const char *unit;            /* the base unit, which text ends with; "": none */
    uint64_t times;              /* a value, times this … */
    unsigned decimals;           /* … and divided by ten as often as this, is in the base unit */
    bool is_counter;
};

/* False: no name can be made of it. */
bool prom_name_of(const struct set *set, const struct metric *metric, struct prom_name *name);

#endif
