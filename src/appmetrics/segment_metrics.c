/* Descriptors are validated once, when they are added. */
#include "appmetrics/segment_metrics.h"

#include <math.h>
#include <stdlib.h>

enum { SUM_NOT, SUM_U64, SUM_F64, SUM_LAST };

/* A copy, because the bytes may not be aligned. False: it is not complete. */
static bool get_head(struct segment_descriptor *head, const char *bytes, size_t size)
{
    if (size < sizeof *head)
        return false;
    memcpy(head, bytes, sizeof *head);
    if (head->bytes > size || head->bytes % 8 || head->bounds > SEGMENT_BOUNDS_MAX)
        return false;
    if (head->name_bytes > SEGMENT_STRING_MAX || head->label_bytes > SEGMENT_STRING_MAX || head->unit_bytes > SEGMENT_STRING_MAX
        || head->help_bytes > SEGMENT_STRING_MAX || head->name_bytes == 0)
        return false;
    size_t needed = sizeof *head + head->bounds * sizeof(double) + head->name_bytes + head->label_bytes + head->unit_bytes
                    + head->help_bytes;
    return head->bytes == (needed + 7) / 8 * 8;
}

static bool is_rising(const char *bounds, size_t count)
{
    double before = -INFINITY, bound;
    for (size_t i = 0; i < count; i++, before = bound) {
        memcpy(&bound, bounds + i * sizeof bound, sizeof bound);
        if (!isfinite(bound) || bound <= before)
            return false;
    }
    return true;
}

static bool is_valid(const struct segment_descriptor *head, const char *bounds)
{
    switch (head->kind) {
    case SEGMENT_COUNTER:
        return head->bounds == 0 && head->type >= SEGMENT_U64 && head->type <= SEGMENT_TICKS;
    case SEGMENT_GAUGE:
        return head->bounds == 0 && head->type == SEGMENT_F64;
    case SEGMENT_HISTOGRAM:
        return (head->type == SEGMENT_U64 || head->type == SEGMENT_F64) && is_rising(bounds, head->bounds);
    default:
        return false;
    }
}

static uint32_t slots_of(const struct segment_descriptor *head)
{
    return segment_slot_count(head->kind, head->type, head->bounds);
}

static enum err grow_slots(struct segment_metrics *metrics, uint32_t chunks)
{
    if (chunks <= metrics->chunks)
        return OK;
    size_t before = (size_t)metrics->chunks * SEGMENT_CHUNK_SLOTS, after = (size_t)chunks * SEGMENT_CHUNK_SLOTS;
    union segment_slot *slots = realloc(metrics->slots, after * sizeof *slots);
    if (!slots)
        return NOMEM;
    metrics->slots = slots;
    uint8_t *types = realloc(metrics->types, after);
    if (!types)
        return NOMEM;
    metrics->types = types;
    memset(slots + before, 0, (after - before) * sizeof *slots);
    memset(types + before, SUM_NOT, after - before);
    metrics->chunks = chunks;
    return OK;
}

/* A writer fills one chunk before it begins the next, alternately of threads and of the process, and leaves less than
 * half of each empty. Chunk numbers far beyond that are bogus, and would cost memory. */
static bool is_near(const struct segment_metrics *metrics, uint32_t chunk)
{
    return chunk > 0 && chunk < SEGMENT_CHUNKS_MAX && chunk / 2 <= metrics->slot_count / (SEGMENT_SLOTS_MAX / 4) + 2;
}

static enum err mark_slots(struct segment_metrics *metrics, const struct segment_descriptor *head)
{
    uint32_t chunk = head->metric >> SEGMENT_CHUNK_SHIFT, slot = head->metric & (SEGMENT_CHUNK_SLOTS - 1);
    uint32_t count = slots_of(head);
    if (slot < SEGMENT_HEAD_SLOTS || slot + count > SEGMENT_CHUNK_SLOTS || !is_near(metrics, chunk))
        return CORRUPT;
    enum err err = grow_slots(metrics, chunk + 1);
    if (err)
        return err;
    uint8_t *types = metrics->types + head->metric;
    memset(types, SUM_U64, count);
    if (head->kind == SEGMENT_GAUGE)
        types[0] = SUM_LAST;
    else if (head->type == SEGMENT_F64)
        types[count - 1] = types[count - 2] = SUM_F64;
    metrics->slot_count += count;
    return OK;
}

static enum err add_one(struct segment_metrics *metrics, const struct segment_descriptor *head, const char *bytes)
{
    if (!is_valid(head, bytes + sizeof *head))
        return CORRUPT;
    enum err err = vec_reserve(&metrics->offsets, 1, SEGMENT_METRICS_MAX);
    err = err ? err : array_reserve(metrics->descriptors, metrics->descriptor_capacity,
                                    metrics->descriptor_bytes + head->bytes, SEGMENT_METRICS_BYTES_MAX);
    err = err ? err : mark_slots(metrics, head);
    if (err)
        return err;
    metrics->offsets.items[metrics->offsets.count++] = (uint32_t)(metrics->descriptor_bytes / 8);
    memcpy(metrics->descriptors + metrics->descriptor_bytes, bytes, head->bytes);
    metrics->descriptor_bytes += head->bytes;
    return OK;
}

enum err segment_metrics_add(struct segment_metrics *metrics, const char *bytes, size_t size)
{
    while (size > 0) {
        struct segment_descriptor head;
        if (!get_head(&head, bytes, size))
            return CORRUPT;
        enum err err = add_one(metrics, &head, bytes);
        if (err)
            return err;
        bytes += head.bytes;
        size -= head.bytes;
    }
    return OK;
}

void segment_metrics_reset_values(struct segment_metrics *metrics)
{
    if (metrics->slots)
        memset(metrics->slots, 0, (size_t)metrics->chunks * SEGMENT_CHUNK_SLOTS * sizeof *metrics->slots);
}

void segment_metrics_sum(struct segment_metrics *metrics, uint32_t chunk, const uint64_t *page)
{
    if (chunk >= metrics->chunks)
        return;
    union segment_slot *slots = metrics->slots + (size_t)chunk * SEGMENT_CHUNK_SLOTS;
    const uint8_t *types = metrics->types + (size_t)chunk * SEGMENT_CHUNK_SLOTS;
    for (uint32_t i = SEGMENT_HEAD_SLOTS; i < SEGMENT_CHUNK_SLOTS; i++) {
        double value;
        memcpy(&value, &page[i], sizeof value);
        if (types[i] == SUM_U64)
            slots[i].u64 += page[i];
        else if (types[i] == SUM_F64)
            slots[i].f64 += value;
        else if (types[i] == SUM_LAST)
            slots[i].u64 = page[i];
    }
}

static void take_strings(struct segment_value *value, const struct segment_descriptor *head)
{
    const char *text = (const char *)(head + 1);
    value->bounds = (const double *)(const void *)text;
    value->bound_count = head->bounds;
    text += head->bounds * sizeof(double);
    value->name = (struct bytes){ text, head->name_bytes };
    text += head->name_bytes;
    value->labels = (struct bytes){ text, head->label_bytes };
    text += head->label_bytes;
    value->unit = (struct bytes){ text, head->unit_bytes };
    text += head->unit_bytes;
    value->help = (struct bytes){ text, head->help_bytes };
}

static void take_number(struct segment_value *value, const union segment_slot *slot, double seconds_per_tick)
{
    if (value->kind == SEGMENT_GAUGE) {
        value->is_known = slot->u64 != 0;
        value->f64 = segment_gauge_value(slot->u64);
        return;
    }
    value->is_integer = value->type == SEGMENT_U64;
    value->u64 = value->is_integer ? slot->u64 : 0;
    value->f64 = value->type == SEGMENT_F64     ? slot[0].f64 + slot[1].f64
                 : value->type == SEGMENT_TICKS ? (double)slot->u64 * seconds_per_tick
                                              : (double)slot->u64;
}

void segment_metrics_value(const struct segment_metrics *metrics, size_t index, struct segment_value *value)
{
    const struct segment_descriptor *head = (const void *)(metrics->descriptors + (size_t)metrics->offsets.items[index] * 8);
    const union segment_slot *slot = metrics->slots + head->metric;
    *value = (struct segment_value){ .kind = head->kind, .type = head->type, .is_known = true };
    take_strings(value, head);
    take_number(value, head->kind == SEGMENT_HISTOGRAM ? slot + head->bounds + 1 : slot, metrics->seconds_per_tick);
    if (value->kind != SEGMENT_HISTOGRAM)
        return;
    value->buckets = &slot->u64;
    for (size_t i = 0; i <= value->bound_count; i++)
        value->count += value->buckets[i];
}

uint64_t segment_metrics_bytes(const struct segment_metrics *metrics)
{
    uint64_t slots = (uint64_t)metrics->chunks * SEGMENT_CHUNK_SLOTS;
    return metrics->descriptor_bytes + metrics->offsets.count * sizeof *metrics->offsets.items
           + slots * (sizeof *metrics->slots + sizeof *metrics->types);
}

void segment_metrics_clear(struct segment_metrics *metrics)
{
    vec_clear(&metrics->offsets);
    free(metrics->descriptors);
    free(metrics->slots);
    free(metrics->types);
    *metrics = (struct segment_metrics){ 0 };
}
