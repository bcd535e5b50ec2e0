/* A hash table finds the first of each chain: sets of one name may be many and large, and must not be searched for each
 * metric. */
#include "api/metrics_columns.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const struct metric *metric)
{
    uint64_t hash = hash_add_text(HASH_START, metric->name);
    return hash_add_text(hash, metric->unit) + (metric->kind == COUNTER);
}

static bool is_same(const struct metric *a, const struct metric *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0;
}

static const struct metric *metric_of(const struct set *const *sets, const struct metrics_column *column)
{
    return &sets[column->set]->metrics[column->metric];
}

static void chain(struct metrics_column **slots, size_t capacity, const struct set *const *sets, struct metrics_column *column)
{
    const struct metric *metric = metric_of(sets, column);
    size_t at = hash_of(metric) & (capacity - 1);
    while (slots[at] && !is_same(metric_of(sets, slots[at]), metric))
        at = (at + 1) & (capacity - 1);
    column->is_first = !slots[at];
    column->last = column;
    if (column->is_first) {
        slots[at] = column;
        return;
    }
    slots[at]->last->next = column;
    slots[at]->last = column;
}

enum err metrics_columns_init(struct metrics_columns *columns, const struct set *const *sets, size_t count)
{
    size_t total = 0, capacity = 64, at = 0;
    for (size_t i = 0; i < count; i++)
        total += sets[i]->size;
    while (capacity < total * 2)
        capacity *= 2;
    struct metrics_column **slots = calloc(capacity, sizeof(struct metrics_column *));
    *columns = (struct metrics_columns){ calloc(total + 1, sizeof(struct metrics_column)), total };
    if (!slots || !columns->items) {
        free(slots);
        metrics_columns_clear(columns);
        return NOMEM;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sets[i]->size; k++) {
            struct metrics_column *column = &columns->items[at++];
            *column = (struct metrics_column){ .set = i, .metric = k };
            chain(slots, capacity, sets, column);
        }
    free(slots);
    return OK;
}

void metrics_columns_clear(struct metrics_columns *columns)
{
    free(columns->items);
    *columns = (struct metrics_columns){ 0 };
}
