/* Rows under construction: a sample starts a row, further samples are merged into it, and all are sorted into
 * Colmet's message order. */
#ifndef SONDE_COMPAT_COLMET_SLOTS_H
#define SONDE_COMPAT_COLMET_SLOTS_H

#include "compat/colmet/rows.h"

struct colmet_slot {
    struct colmet_row row;
    const struct sample *first; /* its first sample */
    union value values[COLMET_COLUMNS_MAX];
    uint8_t known[COLMET_COLUMNS_MAX];
    const char *labels[COLMET_RAPL_COUNTERS];
};

struct colmet_slots {
    const struct batch *batch;  /* the batch being converted */
    struct colmet_slot **slots; /* allocated one by one, because rows point into them */
    size_t count, capacity;         /* used; allocated */
    struct colmet_row *sorted;
    size_t sorted_capacity;
    uint64_t *involved; /* the jobs of the batch, sorted */
    size_t involved_count, involved_capacity;
};

void colmet_slots_clear(struct colmet_slots *slots);

/* Starts the conversion of batch. */
enum err colmet_slots_reset(struct colmet_slots *slots, const struct batch *batch);

/* A new row for a sample; NULL: out of memory. */
struct colmet_slot *colmet_slots_begin(struct colmet_slots *slots, enum colmet_backend_id backend, const struct sample *sample);

/* The row of this backend and job to merge sample into, or a new one. A repetition of the row's first sample starts
 * the next row. */
struct colmet_slot *colmet_slots_join(struct colmet_slots *slots, enum colmet_backend_id backend, const struct sample *sample);

/* Sets column i to a non-negative integer. */
void colmet_slot_set(struct colmet_slot *slot, size_t i, uint64_t value);
void colmet_slot_label(struct colmet_slot *slot, size_t i, const char *label);

/* All rows with a value, sorted by backend. Borrowed until the next call. */
enum err colmet_slots_sort(struct colmet_slots *slots, const struct colmet_row **list, size_t *count);

#endif
