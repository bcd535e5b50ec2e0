/* Rows of Colmet's while they are made from a batch: begun, joined by further samples, and put into the order of its
 * messages. */
#ifndef SONDE_COMPAT_COLMET_SLOTS_H
#define SONDE_COMPAT_COLMET_SLOTS_H

#include "compat/colmet/rows.h"

struct colmet_slot {
    struct colmet_row row;
    const struct sample *first; /* of those that it was made of */
    union value values[COLMET_COLUMNS_MAX];
    uint8_t known[COLMET_COLUMNS_MAX];
    const char *labels[COLMET_RAPL_COUNTERS];
};

struct colmet_slots {
    const struct batch *batch;  /* whose rows these are */
    struct colmet_slot **slots; /* each stays where it is: rows point into it */
    size_t count, capacity;         /* in use; made */
    struct colmet_row *sorted;
    size_t sorted_room;
    uint64_t *involved; /* the jobs of the batch, ascending */
    size_t involved_count, involved_room;
};

void colmet_slots_clear(struct colmet_slots *slots);

/* Forgets what was made; the jobs of batch are those of the rows to come. */
enum err colmet_slots_reset(struct colmet_slots *slots, const struct batch *batch);

/* A new row of a sample; NULL: memory ran out. */
struct colmet_slot *colmet_slots_begin(struct colmet_slots *slots, enum colmet_backend_id backend, const struct sample *sample);

/* The row of this backend and job that sample belongs to as well, or a new one. The sample that a row began with, when it
 * comes again, begins the next. */
struct colmet_slot *colmet_slots_join(struct colmet_slots *slots, enum colmet_backend_id backend, const struct sample *sample);

/* Where column i is a number that is not negative. */
void colmet_slot_set(struct colmet_slot *slot, size_t i, uint64_t value);
void colmet_slot_label(struct colmet_slot *slot, size_t i, const char *label);

/* All rows that hold a value, by backend. Borrowed until the next call. */
enum err colmet_slots_sort(struct colmet_slots *slots, const struct colmet_row **list, size_t *count);

#endif
