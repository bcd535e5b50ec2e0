/* Metrics of several sets that have one name: those that mean the same are chained. */
#ifndef SONDE_API_METRICS_COLUMNS_H
#define SONDE_API_METRICS_COLUMNS_H

#include "base/err.h"
#include "model/batch.h"

/* One metric of one of the sets. */
struct metrics_column {
    size_t set, metric;                /* places: in the list of sets, in the set */
    const struct metrics_column *next; /* of the same name, unit and kind, in a later set; NULL: none */
    bool is_first;                     /* none before it is the same */
    struct metrics_column *last;       /* of a first one: the end of the chain */
};

struct metrics_columns {
    struct metrics_column *items; /* set after set */
    size_t count;
};

enum err metrics_columns_init(struct metrics_columns *columns, const struct set *const *sets, size_t count);
void metrics_columns_clear(struct metrics_columns *columns);

#endif
