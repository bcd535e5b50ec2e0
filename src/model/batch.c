/* The values of all samples share one array; pointers are updated when it moves. */
#include "model/batch.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void batch_init(struct batch *batch)
{
    *batch = (struct batch){ 0 };
}

void batch_clear(struct batch *batch)
{
    free(batch->samples);
    free(batch->values);
    free(batch->known);
    batch_init(batch);
}

void batch_reset(struct batch *batch)
{
    batch->count = 0;
    batch->values_used = 0;
    batch->is_part = false;
    batch->read_ns = 0;
    batch->jobs = NULL;
    batch->events = NULL;
    batch->gaps = NULL;
    batch->piece = NULL;
    batch->job_count = batch->event_count = batch->gap_count = 0;
    batch->stream = batch->sequence = batch->position = 0;
}

size_t batch_value_count(const struct batch *batch)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t k = 0; k < batch->samples[i].set->size; k++)
            count += !batch->samples[i].known || batch->samples[i].known[k];
    return count;
}

const struct job *batch_job(const struct batch *batch, const struct sample *sample)
{
    for (size_t i = 0; sample->job && i < batch->job_count; i++)
        if (strcmp(batch->jobs[i]->id, sample->job) == 0)
            return batch->jobs[i];
    return NULL;
}

static void update_pointers(struct batch *batch)
{
    size_t used = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->samples[i].values = batch->values + used;
        batch->samples[i].known = batch->known + used;
        used += batch->samples[i].set->size;
    }
}

static bool grow_values(struct batch *batch, size_t need)
{
    if (batch->values_capacity && need <= batch->values_capacity) /* also for a set without metrics */
        return true;
    size_t capacity = vec_capacity(batch->values_capacity, need, VEC_MAX);
    if (array_resize(batch->values, capacity) || array_resize(batch->known, capacity))
        return false;
    batch->values_capacity = capacity;
    update_pointers(batch);
    return true;
}

struct sample *batch_add(struct batch *batch, const struct set *set, uint64_t time_ns, const char *instance)
{
    if (!grow_values(batch, batch->values_used + set->size)
        || array_reserve(batch->samples, batch->capacity, batch->count + 1, VEC_MAX))
        return NULL;
    struct sample *sample = &batch->samples[batch->count++];
    *sample = (struct sample){
        .set = set,
        .time_ns = time_ns,
        .instance = instance ? instance : "",
        .values = batch->values + batch->values_used,
        .known = batch->known + batch->values_used,
    };
    memset(batch->values + batch->values_used, 0, set->size * sizeof *batch->values);
    memset(batch->known + batch->values_used, 0, set->size);
    batch->values_used += set->size;
    return sample;
}
