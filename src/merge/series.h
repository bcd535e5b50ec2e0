/* The samples of a spool as time series, one per metric set and instance. */
#ifndef SONDE_MERGE_SERIES_H
#define SONDE_MERGE_SERIES_H

#include "merge/arena.h"
#include "model/run.h"

struct series {
    struct arena *arena; /* memory that the run keeps */
    struct series_set *sets;
    size_t set_count, set_capacity;
    struct series_one *ones; /* one per set and instance */
    uint32_t count, capacity;
    uint32_t *table; /* hash table: set and instance to index in ones */
    uint32_t table_size;
    struct series_sample *samples;
    uint32_t sample_count, sample_capacity;
};

void series_init(struct series *series, struct arena *arena);
void series_clear(struct series *series);

/* Bodies of set and sample records; a sample's body is borrowed until series_finish. CORRUPT: cannot be decoded, or its
 * set is unknown; NOMEM. */
enum err series_add_set(struct series *series, struct bytes body);
enum err series_add_sample(struct series *series, struct bytes body);

enum err series_finish(struct series *series, struct run *run);

#endif
