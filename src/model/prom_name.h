/* Prometheus metric names, sonde_<set>_<metric>_<base unit>[_total], and the conversion to the base unit. */
#ifndef SONDE_MODEL_PROM_NAME_H
#define SONDE_MODEL_PROM_NAME_H

#include "model/batch.h"

#define PROM_NAME_MAX 256

struct prom_name {
    char text[PROM_NAME_MAX]; /* without "_total" */
    size_t size;
    const char *unit;            /* base unit, the end of text; "": none */
    uint64_t times;              /* value * times / 10^decimals is in the base unit */
    unsigned decimals;
    bool is_counter;
};

/* False: not possible. */
bool prom_name_of(const struct set *set, const struct metric *metric, struct prom_name *name);

#endif
