/* Which metric of ours is which column of Colmet's, by the sets that need no more than that: taskstats, process, the sets of
 * /proc, infiniband, lustre, ipmi; and Colmet's own. Where they stand in a set is looked up once and remembered. */
#ifndef SONDE_COMPAT_COLMET_FIELDS_H
#define SONDE_COMPAT_COLMET_FIELDS_H

#include "model/batch.h"
#include "compat/colmet/backends.h"

#define COLMET_NOWHERE UINT16_MAX
#define COLMET_VARIANTS 4 /* of one set, as kernels differ: more are looked up each time */

/* One metric: what ours is called, in which column it goes, and how many of its units make one of Colmet's. */
struct colmet_field {
    const char *metric, *column;
    uint32_t divisor;
};

struct colmet_source {
    const char *set;
    enum colmet_backend_id backend;
    const struct colmet_field *fields; /* NULL: columns have the names of metrics */
    size_t count;
    bool joins; /* samples of a batch become one row; else one each */
    bool adds;  /* … with the sums of their values */
};

/* Where the columns of a backend stand in a set. */
struct colmet_map {
    size_t set_size;
    uint16_t at[COLMET_COLUMNS_MAX]; /* of the metric, or COLMET_NOWHERE */
    const char *metric[COLMET_COLUMNS_MAX]; /* its name */
    uint32_t divisor[COLMET_COLUMNS_MAX];
};

#define COLMET_SOURCES (9 + COLMET_BACKENDS)

struct colmet_fields {
    struct colmet_map maps[COLMET_SOURCES][COLMET_VARIANTS];
    uint8_t used[COLMET_SOURCES], next[COLMET_SOURCES];
};

/* NULL: not one of those. */
const struct colmet_source *colmet_fields_source(const char *set);

const struct colmet_map *colmet_fields_map(struct colmet_fields *fields, const struct colmet_source *source,
                                           const struct set *set);

/* A value of ours in the type of a column; false: it does not fit, or is no number. */
bool colmet_fields_convert(union value value, enum metric_type from, enum colmet_type to, uint32_t divisor,
                           union value *converted);

#endif
