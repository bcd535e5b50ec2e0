/* A map finds the first of each chain: there may be many large sets of one name. */
#include "api/metrics_columns.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const struct metric *metric)
{
    return map_hash_string(map_hash_string(metric->kind == COUNTER, metric->name), metric->unit);
}

static bool is_same(const struct metric *a, const struct metric *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0;
}

struct column_key {
    const struct set *const *sets;
    const struct metric *metric;
};

static const struct metric *metric_of(const struct set *const *sets, const struct metrics_column *column)
{
    return &sets[column->set]->metrics[column->metric];
}

static bool is_column(const void *column, const void *key)
{
    const struct column_key *wanted = key;
    return is_same(metric_of(wanted->sets, column), wanted->metric);
}

static enum err chain(struct map *first_columns, const struct set *const *sets, struct metrics_column *column, size_t max)
{
    struct column_key key = { sets, metric_of(sets, column) };
    uint64_t hash = hash_of(key.metric);
    struct metrics_column *first = map_find(first_columns, hash, is_column, &key);
    column->is_first = !first;
    column->last = column;
    if (!first)
        return map_add(first_columns, hash, column, max);
    first->last->next = column;
    first->last = column;
    return OK;
}

enum err metrics_columns_init(struct metrics_columns *columns, const struct set *const *sets, size_t count)
{
    struct map first_columns = { 0 };
    size_t total = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        total += sets[i]->size;
    *columns = (struct metrics_columns){ calloc(total + 1, sizeof(struct metrics_column)), total };
    enum err err = columns->items ? OK : NOMEM;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sets[i]->size && !err; k++) {
            struct metrics_column *column = &columns->items[at++];
            *column = (struct metrics_column){ .set = i, .metric = k };
            err = chain(&first_columns, sets, column, total);
        }
    map_clear(&first_columns);
    if (err)
        metrics_columns_clear(columns);
    return err;
}

void metrics_columns_clear(struct metrics_columns *columns)
{
    free(columns->items);
    *columns = (struct metrics_columns){ 0 };
}
