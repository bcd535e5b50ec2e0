/* The metrics of one board: what each is, and the sums of its slots. */
#include "appmetrics/segment_metrics.h"

#include <math.h>
#include <stdlib.h>

enum { SUM_NOT, SUM_U64, SUM_F64, SUM_LAST };

/* A copy, because bytes of the file stand anywhere. False: there is no whole one. */
static bool get_head(struct board_descriptor *head, const char *bytes, size_t size)
{
    if (size < sizeof *head)
        return false;
    memcpy(head, bytes, sizeof *head);
    if (head->bytes > size || head->bytes % 8 || head->bounds > BOARD_BOUNDS_MAX)
        return false;
    if (head->name_bytes > BOARD_TEXT_MAX || head->label_bytes > BOARD_TEXT_MAX || head->unit_bytes > BOARD_TEXT_MAX
        || head->help_bytes > BOARD_TEXT_MAX || head->name_bytes == 0)
        return false;
    size_t needed = sizeof *head + head->bounds * sizeof(double) + head->name_bytes + head->label_bytes + head->unit_bytes
                    + head->help_bytes;
    return head->bytes >= needed;
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

static bool makes_sense(const struct board_descriptor *head, const char *bounds)
{
    switch (head->kind) {
    case BOARD_COUNTER:
        return head->bounds == 0 && head->type >= BOARD_U64 && head->type <= BOARD_TICKS;
    case BOARD_GAUGE:
        return head->bounds == 0 && head->type == BOARD_F64;
    case BOARD_HISTOGRAM:
        return (head->type == BOARD_U64 || head->type == BOARD_F64) && is_rising(bounds, head->bounds);
    default:
        return false;
    }
}

static uint32_t slots_of(const struct board_descriptor *head)
{
    return board_slot_count(head->kind, head->type, head->bounds);
}

static enum err grow_slots(struct board_metrics *metrics, uint32_t chunks)
{
    if (chunks <= metrics->chunks)
        return OK;
    size_t before = (size_t)metrics->chunks * BOARD_CHUNK_SLOTS, after = (size_t)chunks * BOARD_CHUNK_SLOTS;
    union board_slot *slots = realloc(metrics->slots, after * sizeof *slots);
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

/* A writer fills one chunk before it begins the next, of threads and of the process in turn, and leaves less than half of one
 * empty: numbers far beyond that are made up, and would cost memory. */
static bool is_near(const struct board_metrics *metrics, uint32_t chunk)
{
    return chunk > 0 && chunk < BOARD_CHUNKS_MAX && chunk / 2 <= metrics->slot_count / (BOARD_SLOTS_MAX / 4) + 2;
}

static enum err mark_slots(struct board_metrics *metrics, const struct board_descriptor *head)
{
    uint32_t chunk = head->metric >> BOARD_CHUNK_SHIFT, slot = head->metric & (BOARD_CHUNK_SLOTS - 1);
    uint32_t count = slots_of(head);
    if (slot < BOARD_HEAD_SLOTS || slot + count > BOARD_CHUNK_SLOTS || !is_near(metrics, chunk))
        return CORRUPT;
    enum err err = grow_slots(metrics, chunk + 1);
    if (err)
        return err;
    uint8_t *types = metrics->types + head->metric;
    memset(types, SUM_U64, count);
    if (head->kind == BOARD_GAUGE)
        types[0] = SUM_LAST;
    else if (head->type == BOARD_F64)
        types[count - 1] = types[count - 2] = SUM_F64;
    metrics->slot_count += count;
    return OK;
}

static enum err grow_places(struct board_metrics *metrics)
{
    if (metrics->count < metrics->room)
        return OK;
    if (metrics->count >= BOARD_METRICS_MAX)
        return FULL;
    size_t room = metrics->room ? metrics->room * 2 : 16;
    uint32_t *places = realloc(metrics->places, room * sizeof *places);
    if (!places)
        return NOMEM;
    metrics->places = places;
    metrics->room = room;
    return OK;
}

static enum err grow_texts(struct board_metrics *metrics, size_t more)
{
    size_t needed = metrics->text_bytes + more, room = metrics->text_room ? metrics->text_room : 1024;
    if (needed <= metrics->text_room)
        return OK;
    if (needed > BOARD_METRICS_BYTES_MAX)
        return FULL;
    while (room < needed)
        room *= 2;
    char *texts = realloc(metrics->texts, room);
    if (!texts)
        return NOMEM;
    metrics->texts = texts;
    metrics->text_room = room;
    return OK;
}

static enum err add_one(struct board_metrics *metrics, const struct board_descriptor *head, const char *bytes)
{
    if (!makes_sense(head, bytes + sizeof *head))
        return CORRUPT;
    enum err err = grow_places(metrics);
    err = err ? err : grow_texts(metrics, head->bytes);
    err = err ? err : mark_slots(metrics, head);
    if (err)
        return err;
    metrics->places[metrics->count++] = (uint32_t)(metrics->text_bytes / 8);
    memcpy(metrics->texts + metrics->text_bytes, bytes, head->bytes);
    metrics->text_bytes += head->bytes;
    return OK;
}

enum err board_metrics_add(struct board_metrics *metrics, const char *bytes, size_t size)
{
    while (size > 0) {
        struct board_descriptor head;
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

void board_metrics_clear_values(struct board_metrics *metrics)
{
    if (metrics->slots)
        memset(metrics->slots, 0, (size_t)metrics->chunks * BOARD_CHUNK_SLOTS * sizeof *metrics->slots);
}

void board_metrics_sum(struct board_metrics *metrics, uint32_t chunk, const uint64_t *page)
{
    if (chunk >= metrics->chunks)
        return;
    union board_slot *slots = metrics->slots + (size_t)chunk * BOARD_CHUNK_SLOTS;
    const uint8_t *types = metrics->types + (size_t)chunk * BOARD_CHUNK_SLOTS;
    for (uint32_t i = BOARD_HEAD_SLOTS; i < BOARD_CHUNK_SLOTS; i++) {
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

static void take_texts(struct board_value *value, const struct board_descriptor *head)
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

static void take_number(struct board_value *value, const union board_slot *slot, double seconds_per_tick)
{
    if (value->kind == BOARD_GAUGE) {
        value->is_known = slot->u64 != 0;
        value->f64 = board_gauge_value(slot->u64);
        return;
    }
    value->is_integer = value->type == BOARD_U64;
    value->u64 = value->is_integer ? slot->u64 : 0;
    value->f64 = value->type == BOARD_F64     ? slot[0].f64 + slot[1].f64
                 : value->type == BOARD_TICKS ? (double)slot->u64 * seconds_per_tick
                                              : (double)slot->u64;
}

void board_metrics_value(const struct board_metrics *metrics, size_t place, struct board_value *value)
{
    const struct board_descriptor *head = (const void *)(metrics->texts + (size_t)metrics->places[place] * 8);
    const union board_slot *slot = metrics->slots + head->metric;
    *value = (struct board_value){ .kind = head->kind, .type = head->type, .is_known = true };
    take_texts(value, head);
    take_number(value, head->kind == BOARD_HISTOGRAM ? slot + head->bounds + 1 : slot, metrics->seconds_per_tick);
    if (value->kind != BOARD_HISTOGRAM)
        return;
    value->buckets = &slot->u64;
    for (size_t i = 0; i <= value->bound_count; i++)
        value->count += value->buckets[i];
}

void board_metrics_clear(struct board_metrics *metrics)
{
    free(metrics->places);
    free(metrics->texts);
    free(metrics->slots);
    free(metrics->types);
    *metrics = (struct board_metrics){ 0 };
}
