/* Samples are noted as they come and decoded at the end, when it is known how many each series has. */
#include "merge/series.h"

#include "merge/sort.h"
#include "spool/record.h"

#include <stdlib.h>

#define SETS_MAX 1024u
#define NONE_SERIES UINT32_MAX

struct series_set {
    uint64_t number;
    struct set set;
    struct bytes metrics; /* as they were told */
    uint32_t same;        /* the first of this name with these metrics: itself, unless the run was killed and others wrote on */
};

struct series_one {
    struct bytes instance;
    uint32_t set, samples;
    struct run_series *out;
};

struct series_sample {
    uint64_t time_ns;
    struct bytes values;
    uint32_t one;
    bool is_rescued; /* told by others after the run: what programs counted that had gone before is not in it */
};

void series_init(struct series *series, struct arena *arena)
{
    *series = (struct series){ .arena = arena };
}

void series_clear(struct series *series)
{
    free(series->sets);
    free(series->ones);
    free(series->table);
    free(series->samples);
    series_init(series, series->arena);
}

static bool grow(void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? *room * 2 : 16;
    void *moved = realloc(*array, more * size);
    if (!moved)
        return false;
    *array = moved;
    *room = more;
    return true;
}

static bool grow_small(void **array, uint32_t *room, uint32_t count, size_t size)
{
    size_t wide = *room;
    if (count >= UINT32_MAX / 4 || !grow(array, &wide, count, size))
        return false;
    *room = (uint32_t)wide;
    return true;
}

static enum err read_metrics(struct arena *arena, struct bytes text, size_t size, const struct metric **metrics)
{
    struct unpacker u = { (const uint8_t *)text.data, (const uint8_t *)text.data + text.size, false };
    if (size == 0 || size > SET_METRICS_MAX || size > text.size)
        return CORRUPT;
    struct metric *list = arena_alloc(arena, size, sizeof *list);
    for (size_t i = 0; list && i < size && !u.bad; i++) {
        list[i].name = arena_copy(arena, unpack_text(&u)).data;
        list[i].unit = arena_copy(arena, unpack_text(&u)).data;
        list[i].help = arena_copy(arena, unpack_text(&u)).data;
        uint64_t kind = unpack_number(&u), type = unpack_number(&u);
        if (kind > GAUGE || type > F64)
            return CORRUPT;
        list[i].kind = (enum metric_kind)kind;
        list[i].type = (enum metric_type)type;
        if (!list[i].name || !list[i].unit || !list[i].help)
            return NOMEM;
    }
    *metrics = list;
    return !list ? NOMEM : u.bad ? CORRUPT : OK;
}

static struct series_set *find_set(const struct series *series, uint64_t number)
{
    for (size_t i = 0; i < series->set_count; i++)
        if (series->sets[i].number == number)
            return &series->sets[i];
    return NULL;
}

static uint32_t find_same(const struct series *series, const char *name, struct bytes metrics)
{
    for (uint32_t i = 0; i < series->set_count; i++)
        if (strcmp(series->sets[i].set.name, name) == 0 && bytes_equal(series->sets[i].metrics, metrics))
            return i;
    return (uint32_t)series->set_count;
}

enum err series_add_set(struct series *series, struct bytes body)
{
    struct set_record record;
    struct set set = { 0 };
    if (record_unpack_set(body, &record) || record.name.size == 0 || series->set_count == SETS_MAX)
        return CORRUPT;
    if (find_set(series, record.set))
        return OK;
    enum err err = read_metrics(series->arena, record.metrics, record.size, &set.metrics);
    if (err)
        return err;
    set.name = arena_copy(series->arena, record.name).data;
    set.size = record.size;
    if (!set.name || !grow((void **)&series->sets, &series->set_room, series->set_count, sizeof *series->sets))
        return NOMEM;
    uint32_t same = find_same(series, set.name, record.metrics);
    series->sets[series->set_count++] = (struct series_set){ record.set, set, record.metrics, same };
    return OK;
}

static uint32_t place_of(const struct series *series, uint32_t set, struct bytes instance)
{
    for (size_t i = bytes_hash(instance) + set;; i++) {
        uint32_t at = (uint32_t)i & (series->table_size - 1);
        uint32_t one = series->table[at];
        if (one == NONE_SERIES || (series->ones[one].set == set && bytes_equal(series->ones[one].instance, instance)))
            return at;
    }
}

static bool grow_table(struct series *series)
{
    if (series->count < series->table_size / 2)
        return true;
    uint32_t size = series->table_size ? series->table_size * 2 : 64;
    uint32_t *table = malloc(size * sizeof *table);
    if (!table)
        return false;
    memset(table, 0xff, size * sizeof *table);
    free(series->table);
    series->table = table;
    series->table_size = size;
    for (uint32_t i = 0; i < series->count; i++)
        table[place_of(series, series->ones[i].set, series->ones[i].instance)] = i;
    return true;
}

/* NONE_SERIES when memory ran out. */
static uint32_t find_one(struct series *series, uint32_t set, struct bytes instance)
{
    if (!grow_table(series))
        return NONE_SERIES;
    uint32_t at = place_of(series, set, instance);
    if (series->table[at] != NONE_SERIES)
        return series->table[at];
    if (!grow_small((void **)&series->ones, &series->room, series->count, sizeof *series->ones))
        return NONE_SERIES;
    series->table[at] = series->count;
    series->ones[series->count] = (struct series_one){ .instance = instance, .set = set };
    return series->count++;
}

enum err series_add_sample(struct series *series, struct bytes body)
{
    struct sample_record record;
    if (record_unpack_sample(body, &record))
        return CORRUPT;
    const struct series_set *set = find_set(series, record.set);
    if (!set || record.values.size < set->set.size) /* one byte for each value at least */
        return CORRUPT;
    uint32_t number = (uint32_t)(set - series->sets), one = find_one(series, set->same, record.instance);
    if (one == NONE_SERIES
        || !grow_small((void **)&series->samples, &series->sample_room, series->sample_count, sizeof *series->samples))
        return NOMEM;
    series->ones[one].samples++;
    series->samples[series->sample_count++] = (struct series_sample){ record.time_ns, record.values, one, set->same != number };
    return OK;
}

static enum err make_series(struct series *series, struct run *run)
{
    run->series = arena_alloc(series->arena, series->count, sizeof *run->series);
    if (series->count && !run->series)
        return NOMEM;
    for (uint32_t i = 0; i < series->count; i++) {
        struct series_one *one = &series->ones[i];
        struct run_series *out = one->out = &run->series[i];
        out->set = series->sets[one->set].set;
        out->instance = arena_copy(series->arena, one->instance).data;
        out->times_ns = arena_alloc(series->arena, one->samples, sizeof *out->times_ns);
        out->values = arena_alloc(series->arena, one->samples * out->set.size, sizeof *out->values);
        out->known = arena_alloc(series->arena, one->samples * out->set.size, 1);
        if (!out->instance || !out->times_ns || !out->values || !out->known)
            return NOMEM;
    }
    run->series_count = series->count;
    return OK;
}

static bool is_less(const struct metric *metric, union value one, union value other)
{
    return metric->type == F64 ? one.f64 < other.f64 : metric->type == I64 ? one.i64 < other.i64 : one.u64 < other.u64;
}

/* A counter does not fall because a program has gone: what stood there before is less wrong than what is left. */
static void hold_up(struct run_series *out)
{
    size_t size = out->set.size, row = (out->count - 1) * size;
    for (size_t i = 0; out->count > 1 && i < size; i++) {
        size_t at = row + i, before = at - size;
        if (out->set.metrics[i].kind == COUNTER && out->known[before]
            && (!out->known[at] || is_less(&out->set.metrics[i], out->values[at], out->values[before]))) {
            out->values[at] = out->values[before];
            out->known[at] = 1;
        }
    }
}

static void fill_row(struct run_series *out, const struct series_sample *sample)
{
    struct unpacker u = { (const uint8_t *)sample->values.data,
                          (const uint8_t *)sample->values.data + sample->values.size, false };
    size_t row = out->count++ * out->set.size;
    out->times_ns[out->count - 1] = sample->time_ns;
    for (size_t i = 0; i < out->set.size; i++) {
        bool known = unpack_number(&u) == 1;
        uint64_t value = known ? unpack_number(&u) : 0;
        if (u.bad)
            return; /* the rest of the row stays unknown */
        out->known[row + i] = known;
        out->values[row + i].u64 = value;
    }
}

static void add_row(struct run_series *out, const struct series_sample *sample)
{
    fill_row(out, sample);
    if (sample->is_rescued)
        hold_up(out);
}

enum err series_finish(struct series *series, struct run *run)
{
    uint32_t *order = malloc(2 * ((size_t)series->sample_count + 1) * sizeof *order);
    enum err err = order ? make_series(series, run) : NOMEM;
    if (!err) {
        for (uint32_t i = 0; i < series->sample_count; i++)
            order[i] = i;
        sort_by_time(series->samples, sizeof *series->samples, order, order + series->sample_count, series->sample_count);
        for (uint32_t i = 0; i < series->sample_count; i++)
            add_row(series->ones[series->samples[order[i]].one].out, &series->samples[order[i]]);
    }
    free(order);
    return err;
}
