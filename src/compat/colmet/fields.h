/* Maps Sonde's metrics to Colmet's columns, for the sets that need nothing else: taskstats, process, the sets from
 * /proc, infiniband, lustre, ipmi, and sets received from Colmet. The index of each metric in a set is cached. */
#ifndef SONDE_COMPAT_COLMET_FIELDS_H
#define SONDE_COMPAT_COLMET_FIELDS_H

#include "model/batch.h"
#include "compat/colmet/backends.h"

#define COLMET_NOWHERE UINT16_MAX
#define COLMET_VARIANTS 4 /* cached layouts of one set, which differ between kernels */

/* A metric of Sonde, its column, and how many of its units are one of Colmet's. */
struct colmet_field {
    const char *metric, *column;
    uint32_t divisor;
};

struct colmet_source {
    const char *set;
    enum colmet_backend_id backend;
    const struct colmet_field *fields; /* NULL: columns are named like the metrics */
    size_t count;
    bool joins; /* samples of a batch are merged into one row */
    bool adds;  /* … by adding their values */
};

/* For each column of a backend, its metric in a set. */
struct colmet_map {
    size_t set_size;
    uint16_t at[COLMET_COLUMNS_MAX]; /* index of the metric, or COLMET_NOWHERE */
    const char *metric[COLMET_COLUMNS_MAX]; /* its name */
    uint32_t divisor[COLMET_COLUMNS_MAX];
};

#define COLMET_SOURCES (9 + COLMET_BACKENDS)

struct colmet_fields {
    struct colmet_map maps[COLMET_SOURCES][COLMET_VARIANTS];
    uint8_t used[COLMET_SOURCES], next[COLMET_SOURCES];
};

/* NULL: not such a set. */
const struct colmet_source *colmet_fields_source(const char *set);

const struct colmet_map *colmet_fields_map(struct colmet_fields *fields, const struct colmet_source *source,
                                           const struct set *set);

/* Converts a value to the type of a column; false: out of range, or NaN. */
bool colmet_fields_convert(union value value, enum metric_type from, enum colmet_type to, uint32_t divisor,
                           union value *converted);

#endif
