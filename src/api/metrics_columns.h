/* Links equal metrics of several sets of the same name, because Prometheus wants all series of a family together. */
#ifndef SONDE_API_METRICS_COLUMNS_H
#define SONDE_API_METRICS_COLUMNS_H

#include "base/err.h"
#include "model/batch.h"

/* One metric of one of the sets. */
struct metrics_column {
    size_t set, metric;                /* indexes: in the list of sets, in the set */
    const struct metrics_column *next; /* same name, unit and kind, in a later set; NULL: none */
    bool is_first;                     /* start of a chain */
    struct metrics_column *last;       /* of the first: the end of its chain */
};

struct metrics_columns {
    struct metrics_column *items; /* in the order of the sets */
    size_t count;
};

enum err metrics_columns_init(struct metrics_columns *columns, const struct set *const *sets, size_t count);
void metrics_columns_clear(struct metrics_columns *columns);

#endif
