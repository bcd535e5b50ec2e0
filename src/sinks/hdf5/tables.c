/* A hash table of tables with their row buffers. */
#include "sinks/hdf5/tables.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 256
#define TABLES_MAX (1u << 24)

void hdf5_tables_init(struct hdf5_tables *tables, size_t involved_size)
{
    *tables = (struct hdf5_tables){ 0 };
    for (int i = 0; i < HDF5_LAYOUTS; i++)
        hdf5_layout_make(&tables->layouts[i], i, involved_size);
}

void hdf5_tables_clear(struct hdf5_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        free(tables->list[i]->buffered);
        free(tables->list[i]);
    }
    free(tables->list);
    free(tables->slots);
    tables->list = NULL;
    tables->slots = NULL;
    tables->count = tables->capacity = tables->slot_count = 0;
    tables->buffered_bytes = 0;
}

static size_t place_of(const struct hdf5_tables *tables, uint64_t job, int layout)
{
    uint64_t hash = (job * HDF5_LAYOUTS + (uint64_t)layout) * 0x9e3779b97f4a7c15ull;
    size_t at = (hash >> 32) & (tables->slot_count - 1);
    while (tables->slots[at] && (tables->list[tables->slots[at] - 1]->job != job
                                 || tables->list[tables->slots[at] - 1]->layout != layout))
        at = (at + 1) & (tables->slot_count - 1);
    return at;
}

static bool grow_slots(struct hdf5_tables *tables)
{
    if (tables->slot_count && tables->count < tables->slot_count / 2)
        return true;
    size_t slot_count = tables->slot_count ? tables->slot_count * 2 : SLOTS_FIRST;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    free(tables->slots);
    tables->slots = slots;
    tables->slot_count = slot_count;
    for (size_t i = 0; i < tables->count; i++)
        slots[place_of(tables, tables->list[i]->job, tables->list[i]->layout)] = (uint32_t)i + 1;
    return true;
}

struct hdf5_table *hdf5_tables_find(struct hdf5_tables *tables, uint64_t job, int layout)
{
    if (!grow_slots(tables))
        return NULL;
    size_t at = place_of(tables, job, layout);
    if (tables->slots[at])
        return tables->list[tables->slots[at] - 1];
    if (array_reserve(tables->list, tables->capacity, tables->count + 1, TABLES_MAX))
        return NULL;
    struct hdf5_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->job = job;
    table->layout = (uint8_t)layout;
    table->dataset = -1;
    tables->list[tables->count++] = table;
    tables->slots[at] = (uint32_t)tables->count;
    return table;
}

enum err hdf5_tables_reserve(struct hdf5_tables *tables, struct hdf5_table *table)
{
    size_t row_size = tables->layouts[table->layout].row_size;
    if (table->buffered_count + table->reserved == table->buffered_capacity) {
        size_t capacity = table->buffered_capacity ? table->buffered_capacity * 2 : 1; /* most tables have one row per write */
        if (vec_resize(&table->buffered, capacity, row_size))
            return NOMEM;
        table->buffered_capacity = capacity;
    }
    table->reserved++;
    return OK;
}

uint8_t *hdf5_tables_take(struct hdf5_tables *tables, struct hdf5_table *table)
{
    size_t row_size = tables->layouts[table->layout].row_size;
    table->reserved--;
    tables->buffered_bytes += row_size;
    return table->buffered + row_size * table->buffered_count++;
}

void hdf5_tables_cancel(struct hdf5_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        tables->list[i]->reserved = 0;
}

/* Frees the buffer of a table without new rows: its job has ended or is idle. */
void hdf5_tables_committed(struct hdf5_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        struct hdf5_table *table = tables->list[i];
        if (!table->buffered_count) {
            free(table->buffered);
            table->buffered = NULL;
            table->buffered_capacity = 0;
        }
        table->rows += table->buffered_count;
        table->buffered_count = 0;
    }
    tables->buffered_bytes = 0;
}
