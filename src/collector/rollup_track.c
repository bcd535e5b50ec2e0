/* Values keep their type, except for the mean. */
#include "collector/rollup_track.h"

#include "model/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 300

static double as_double(enum metric_type type, union value value)
{
    return type == F64 ? value.f64 : type == I64 ? (double)value.i64 : (double)value.u64;
}

static bool is_less(enum metric_type type, union value a, union value b)
{
    return type == F64 ? a.f64 < b.f64 : type == I64 ? a.i64 < b.i64 : a.u64 < b.u64;
}

/* Describes the rollup metrics of source; their names are stored in names. */
static void describe(struct metric *rolled, const struct metric *source, char (*names)[NAME_MAX_BYTES])
{
    static const char *const parts[ROLLUP_PARTS] = { "min", "mean", "max", "last" };
    for (size_t i = 0; i < ROLLUP_PARTS; i++) {
        snprintf(names[i], NAME_MAX_BYTES, "%.256s_%s", source->name, parts[i]);
        rolled[i] = *source;
        rolled[i].name = names[i];
        rolled[i].source = NULL;
        rolled[i].type = i == 1 ? F64 : source->type;
        rolled[i].kind = i == 3 ? source->kind : GAUGE;
    }
}

static struct set *roll_set(const struct set *set)
{
    char name[SET_NAME_MAX + 8];
    struct set *copy = NULL;
    struct metric *metrics = calloc(set->size * ROLLUP_PARTS + 1, sizeof *metrics);
    char (*names)[NAME_MAX_BYTES] = calloc(set->size * ROLLUP_PARTS + 1, NAME_MAX_BYTES);
    if (metrics && names && set->size * ROLLUP_PARTS <= SET_METRICS_MAX) {
        for (size_t i = 0; i < set->size; i++)
            describe(metrics + i * ROLLUP_PARTS, &set->metrics[i], names + i * ROLLUP_PARTS);
        snprintf(name, sizeof name, "%.31s_rollup", set->name);
        copy = set_copy(&(struct set){ name, metrics, set->size * ROLLUP_PARTS, set->instances });
    }
    free(metrics);
    free(names);
    return copy;
}

/* Finds or adds the set. NULL: out of memory, or too many metrics. */
static struct rollup_set *rollup_set_of(struct rollup_set **list, const struct set *set)
{
    for (struct rollup_set *at = *list; at; at = at->next)
        if (set_equal(at->source, set))
            return at;
    struct rollup_set *new = calloc(1, sizeof *new);
    if (!new)
        return NULL;
    new->source = set_copy(set);
    new->rolled = roll_set(set);
    if (!new->source || !new->rolled) {
        free(new->source);
        free(new->rolled);
        free(new);
        return NULL;
    }
    new->next = *list;
    *list = new;
    return new;
}

void rollup_sets_clear(struct rollup_set **list)
{
    for (struct rollup_set *at = *list, *next; at; at = next) {
        next = at->next;
        free(at->source);
        free(at->rolled);
        free(at);
    }
    *list = NULL;
}

static bool same_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void track_free(struct rollup_track *track)
{
    free(track->instance);
    free(track->job);
    free(track);
}

static struct rollup_track *track_new(const struct rollup_set *set, const struct sample *sample)
{
    struct rollup_track *track = calloc(1, sizeof *track + set->source->size * sizeof *track->values);
    if (!track)
        return NULL;
    track->set = set;
    track->seen_set = sample->set;
    track->instance = strdup(sample->instance);
    track->job = sample->job ? strdup(sample->job) : NULL;
    if (track->instance && (track->job || !sample->job))
        return track;
    track_free(track);
    return NULL;
}

static bool matches(struct rollup_track *track, const struct sample *sample)
{
    if (strcmp(track->instance, sample->instance) != 0 || !same_string(track->job, sample->job))
        return false;
    const struct set *source = track->set->source;
    if (track->seen_set == sample->set && source->size == sample->set->size && strcmp(source->name, sample->set->name) == 0)
        return true;
    if (!set_equal(source, sample->set))
        return false;
    track->seen_set = sample->set;
    return true;
}

static struct rollup_track *find(struct rollup_tracks *tracks, const struct sample *sample)
{
    if (tracks->expected && matches(tracks->expected, sample))
        return tracks->expected;
    struct rollup_track *track = tracks->first;
    while (track && !matches(track, sample))
        track = track->next;
    return track;
}

struct rollup_track *rollup_track_of(struct rollup_tracks *tracks, struct rollup_set **sets, const struct sample *sample)
{
    struct rollup_track *track = find(tracks, sample);
    const struct rollup_set *set = track ? NULL : rollup_set_of(sets, sample->set);
    if (!track && set && (track = track_new(set, sample))) {
        if (tracks->last)
            tracks->last->next = track;
        else
            tracks->first = track;
        tracks->last = track;
    }
    if (track)
        tracks->expected = track->next ? track->next : tracks->first;
    return track;
}

void rollup_tracks_clear(struct rollup_tracks *tracks)
{
    for (struct rollup_track *track = tracks->first, *next; track; track = next) {
        next = track->next;
        track_free(track);
    }
    *tracks = (struct rollup_tracks){ 0 };
}

void rollup_tracks_sweep(struct rollup_tracks *tracks)
{
    struct rollup_track *track = tracks->first;
    *tracks = (struct rollup_tracks){ 0 };
    for (struct rollup_track *next; track; track = next) {
        next = track->next;
        track->next = NULL;
        if (!track->samples) {
            track_free(track);
            continue;
        }
        if (tracks->last)
            tracks->last->next = track;
        else
            tracks->first = track;
        tracks->last = track;
    }
    tracks->expected = tracks->first;
}

void rollup_track_add(struct rollup_track *track, const struct sample *sample)
{
    track->samples++;
    for (size_t i = 0; i < track->set->source->size; i++) {
        struct rollup_value *value = &track->values[i];
        enum metric_type type = track->set->source->metrics[i].type;
        if (sample->known && !sample->known[i])
            continue;
        union value now = sample->values[i];
        if (!value->count || is_less(type, now, value->min))
            value->min = now;
        if (!value->count || is_less(type, value->max, now))
            value->max = now;
        value->last = now;
        value->sum += as_double(type, now);
        value->count++;
    }
}

static union value add_values(enum metric_type type, union value a, union value b)
{
    if (type == F64)
        a.f64 += b.f64;
    else
        a.u64 += b.u64; /* also correct for signed values: two's complement */
    return a;
}

void rollup_track_merge(struct rollup_track *track, const struct rollup_track *from)
{
    track->samples += from->samples;
    for (size_t i = 0; i < track->set->source->size; i++) {
        struct rollup_value *to = &track->values[i];
        const struct rollup_value *value = &from->values[i];
        enum metric_type type = track->set->source->metrics[i].type;
        if (!value->count)
            continue;
        if (!to->count || is_less(type, value->min, to->min))
            to->min = value->min;
        if (!to->count || is_less(type, to->max, value->max))
            to->max = value->max;
        to->last = to->count ? add_values(type, to->last, value->last) : value->last;
        to->sum += value->sum;
        to->count += value->count;
    }
}

enum err rollup_track_emit(struct rollup_track *track, struct batch *batch, uint64_t time_ns)
{
    struct sample *sample = batch_add(batch, track->set->rolled, time_ns, track->instance);
    if (!sample)
        return NOMEM;
    sample->job = track->job;
    union value *values = (union value *)sample->values;
    uint8_t *known = (uint8_t *)sample->known;
    for (size_t i = 0; i < track->set->source->size; i++) {
        struct rollup_value *value = &track->values[i];
        if (value->count) {
            union value mean = { .f64 = value->sum / (double)value->count };
            union value parts[ROLLUP_PARTS] = { value->min, mean, value->max, value->last };
            memcpy(values + i * ROLLUP_PARTS, parts, sizeof parts);
            memset(known + i * ROLLUP_PARTS, 1, ROLLUP_PARTS);
        }
        *value = (struct rollup_value){ 0 };
    }
    track->samples = 0;
    return OK;
}
