/* A pool of rows, reused for each batch. */
#include "compat/colmet/slots.h"

#include "base/clock.h"
#include "base/vec.h"
#include "compat/colmet/records.h"

#include <stdlib.h>
#include <string.h>

void colmet_slots_clear(struct colmet_slots *slots)
{
    for (size_t i = 0; i < slots->capacity; i++)
        free(slots->slots[i]);
    free(slots->slots);
    free(slots->sorted);
    free(slots->involved);
    *slots = (struct colmet_slots){ 0 };
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static enum err set_involved(struct colmet_slots *slots, const struct batch *batch)
{
    slots->involved_count = 0;
    if (array_reserve(slots->involved, slots->involved_capacity, batch->job_count, VEC_MAX))
        return NOMEM;
    for (size_t i = 0; i < batch->job_count; i++)
        if (strcmp(batch->jobs[i]->source, COLMET_NOT_INVOLVED) != 0)
            slots->involved[slots->involved_count++] = colmet_rows_job(batch->jobs[i]->id);
    if (slots->involved_count > 1)
        qsort(slots->involved, slots->involved_count, sizeof *slots->involved, compare_numbers);
    return OK;
}

enum err colmet_slots_reset(struct colmet_slots *slots, const struct batch *batch)
{
    slots->batch = batch;
    slots->count = 0;
    return set_involved(slots, batch);
}

static struct colmet_slot *next_slot(struct colmet_slots *slots)
{
    if (slots->count == slots->capacity) {
        if (array_resize(slots->slots, slots->capacity + 1))
            return NULL;
        slots->slots[slots->capacity] = malloc(sizeof **slots->slots);
        if (!slots->slots[slots->capacity])
            return NULL;
        slots->capacity++;
    }
    return slots->slots[slots->count++];
}

struct colmet_slot *colmet_slots_begin(struct colmet_slots *slots, enum colmet_backend_id id, const struct sample *sample)
{
    const struct colmet_backend *backend = &colmet_backends[id];
    struct colmet_slot *slot = next_slot(slots);
    if (!slot)
        return NULL;
    bool is_node = !sample->job;
    slot->first = sample;
    memset(slot->known, 0, backend->count);
    slot->row = (struct colmet_row){
        .backend = backend,
        .host = slots->batch->host ? slots->batch->host : "",
        .job = is_node ? 0 : colmet_rows_job(sample->job),
        .job_text = sample->job,
        .time_ns = sample->time_ns,
        .time_s = sample->time_ns / NS_PER_S,
        .values = slot->values,
        .known = slot->known,
        .involved = slots->involved,
        .involved_count = is_node ? slots->involved_count : 0,
        .has_involved = is_node && !backend->is_of_jobs,
        .sample = (size_t)(sample - slots->batch->samples),
    };
    return slot;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

struct colmet_slot *colmet_slots_join(struct colmet_slots *slots, enum colmet_backend_id id, const struct sample *sample)
{
    for (size_t i = slots->count; i > 0; i--) {
        struct colmet_slot *slot = slots->slots[i - 1];
        if (slot->row.backend->id != id || !is_same(slot->row.job_text, sample->job))
            continue;
        bool comes_again = is_same(slot->first->set->name, sample->set->name)
                           && is_same(slot->first->instance, sample->instance);
        return comes_again ? colmet_slots_begin(slots, id, sample) : slot;
    }
    return colmet_slots_begin(slots, id, sample);
}

void colmet_slot_set(struct colmet_slot *slot, size_t i, uint64_t value)
{
    if (slot->row.backend->columns[i].type == COLMET_I64 && value > INT64_MAX)
        return;
    slot->values[i].u64 = value;
    slot->known[i] = 1;
}

void colmet_slot_label(struct colmet_slot *slot, size_t i, const char *label)
{
    if (!slot->row.labels)
        memset(slot->labels, 0, sizeof slot->labels);
    slot->row.labels = slot->labels;
    slot->labels[i] = label;
}

static bool has_value(const struct colmet_row *row)
{
    return memchr(row->known, 1, row->backend->count) != NULL;
}

enum err colmet_slots_sort(struct colmet_slots *slots, const struct colmet_row **list, size_t *count)
{
    if (array_reserve(slots->sorted, slots->sorted_capacity, slots->count, VEC_MAX))
        return NOMEM;
    *list = slots->sorted;
    *count = 0;
    for (int id = 0; id < COLMET_BACKENDS; id++)
        for (size_t i = 0; i < slots->count; i++)
            if ((int)slots->slots[i]->row.backend->id == id && has_value(&slots->slots[i]->row))
                slots->sorted[(*count)++] = slots->slots[i]->row;
    return OK;
}
