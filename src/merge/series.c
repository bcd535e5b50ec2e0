/* Samples are collected first and decoded at the end, when the number of samples of each series is known. */
#include "merge/series.h"

#include "base/cpu_budget.h"
#include "base/map.h"
#include "base/vec.h"
#include "merge/sort.h"
#include "spool/record.h"

#include <stdlib.h>

#define SETS_MAX 1024u
#define NONE_SERIES UINT32_MAX

struct series_set {
    uint64_t number;
    struct set set;
    struct bytes metrics; /* encoded */
    uint32_t same;        /* first set with this name and metrics; another than itself if survivors of a killed sonde
                           * run declared it again */
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
    bool is_after_kill; /* written by survivors after sonde run was killed: lacks the counts of programs that exited before */
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
    if (!set.name || array_reserve(series->sets, series->set_capacity, series->set_count + 1, VEC_MAX))
        return NOMEM;
    uint32_t same = find_same(series, set.name, record.metrics);
    series->sets[series->set_count++] = (struct series_set){ record.set, set, record.metrics, same };
    return OK;
}

static uint32_t slot_of(const struct series *series, uint32_t set, struct bytes instance)
{
    for (size_t i = map_hash(set, instance.data, instance.size);; i++) {
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
        table[slot_of(series, series->ones[i].set, series->ones[i].instance)] = i;
    return true;
}

/* NONE_SERIES if out of memory. */
static uint32_t find_one(struct series *series, uint32_t set, struct bytes instance)
{
    if (!grow_table(series))
        return NONE_SERIES;
    uint32_t at = slot_of(series, set, instance);
    if (series->table[at] != NONE_SERIES)
        return series->table[at];
    if (array_reserve(series->ones, series->capacity, series->count + 1, UINT32_MAX / 4))
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
    if (!set || record.values.size < set->set.size) /* at least one byte per value */
        return CORRUPT;
    uint32_t number = (uint32_t)(set - series->sets), one = find_one(series, set->same, record.instance);
    if (one == NONE_SERIES
        || array_reserve(series->samples, series->sample_capacity, series->sample_count + 1, UINT32_MAX / 4))
        return NOMEM;
    series->ones[one].samples++;
    series->samples[series->sample_count++] = (struct series_sample){ record.time_ns, record.values, one,
                                                                      set->same != number };
    return OK;
}

static enum err create_series(struct series *series, struct run *run)
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

/* A counter does not decrease because a program has exited: repeat the previous value, which is closer to the truth. */
static void keep_counters_monotonic(struct run_series *out)
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
    if (sample->is_after_kill)
        keep_counters_monotonic(out);
}

enum err series_finish(struct series *series, struct run *run)
{
    uint32_t *order = malloc(2 * ((size_t)series->sample_count + 1) * sizeof *order);
    enum err err = order ? create_series(series, run) : NOMEM;
    if (!err) {
        for (uint32_t i = 0; i < series->sample_count; i++)
            order[i] = i;
        sort_by_time(series->samples, sizeof *series->samples, order, order + series->sample_count, series->sample_count);
        for (uint32_t i = 0; i < series->sample_count && !cpu_budget_is_spent(); i++)
            add_row(series->ones[series->samples[order[i]].one].out, &series->samples[order[i]]);
        err = cpu_budget_is_spent() ? FULL : OK;
    }
    free(order);
    return err;
}
