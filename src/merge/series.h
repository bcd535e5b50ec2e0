/* The samples of a spool, set by set and instance by instance, as columns of time. */
#ifndef SONDE_MERGE_SERIES_H
#define SONDE_MERGE_SERIES_H

#include "merge/arena.h"
#include "model/run.h"

struct series {
    struct arena *arena; /* what the run keeps */
    struct series_set *sets;
    size_t set_count, set_room;
    struct series_one *ones; /* one per set and instance */
    uint32_t count, room;
    uint32_t *table;         /* hash: set and instance to its place in ones */
    uint32_t table_size;
    struct series_sample *samples;
    uint32_t sample_count, sample_room;
};

void series_init(struct series *series, struct arena *arena);
void series_clear(struct series *series);

/* Bodies of set and sample records; sample borrows the body until series_finish. CORRUPT: it does not parse, or its set
 * is not known; NOMEM. */
enum err series_add_set(struct series *series, struct bytes body);
enum err series_add_sample(struct series *series, struct bytes body);

enum err series_finish(struct series *series, struct run *run);

#endif
