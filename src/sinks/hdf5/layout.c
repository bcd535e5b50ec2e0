/* The columns of each table, and packing a row. Does not need libhdf5, so that it can be tested without it. */
#include "sinks/hdf5/layout.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 65536u /* as PyTables chooses for such tables */
#define CHUNK_ROWS_LEAST 14u /* at least */
#define MEANING_SIZE 128u

static void add(struct hdf5_layout *layout, const char *name, enum hdf5_type type, enum hdf5_source source, size_t value,
                size_t size)
{
    layout->columns[layout->count++] = (struct hdf5_column){ name, type, source, value, 0, size };
}

static int compare_columns(const void *a, const void *b)
{
    return strcmp(((const struct hdf5_column *)a)->name, ((const struct hdf5_column *)b)->name);
}

static void add_values(struct hdf5_layout *layout, const struct colmet_backend *backend)
{
    for (size_t i = 0; i < backend->count; i++) {
        bool is_f32 = backend->columns[i].type == COLMET_F32;
        add(layout, backend->columns[i].name, is_f32 ? HDF5_F32 : HDF5_I64, HDF5_VALUE, i, is_f32 ? 4 : 8);
    }
}

void hdf5_layout_make(struct hdf5_layout *layout, int id, size_t involved_size)
{
    const struct colmet_backend *backend = id < COLMET_BACKENDS ? &colmet_backends[id] : NULL;
    *layout = (struct hdf5_layout){ .name = backend ? backend->name : "mapping" };
    add(layout, "hostname", HDF5_TEXT, HDF5_HOST, 0, COLMET_NAME_SIZE);
    add(layout, "metric_backend", HDF5_TEXT, HDF5_BACKEND, 0, COLMET_NAME_SIZE);
    add(layout, "timestamp", HDF5_I64, HDF5_TIME, 0, 8);
    if (backend) {
        add(layout, "job_id", HDF5_I64, HDF5_JOB, 0, 8);
        add_values(layout, backend);
        if (!backend->is_of_jobs)
            add(layout, "involved_jobs", HDF5_TEXT, HDF5_INVOLVED, 0, involved_size);
    } else {
        add(layout, "counter", HDF5_TEXT, HDF5_COUNTER, 0, MEANING_SIZE);
        add(layout, "meaning", HDF5_TEXT, HDF5_MEANING, 0, MEANING_SIZE);
    }
    qsort(layout->columns, layout->count, sizeof *layout->columns, compare_columns);
    for (size_t i = 0; i < layout->count; i++) {
        layout->columns[i].offset = layout->row_size;
        layout->row_size += layout->columns[i].size;
    }
    layout->chunk_rows = CHUNK_BYTES / layout->row_size;
    if (layout->chunk_rows < CHUNK_ROWS_LEAST)
        layout->chunk_rows = 2 * CHUNK_BYTES / layout->row_size;
}

static void pack_string(uint8_t *out, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1); /* NULLTERM */
    memcpy(out, text, length);
    memset(out + length, 0, size - length);
}

static void pack_value(const struct hdf5_column *column, const struct colmet_row *row, uint8_t *out)
{
    size_t i = column->value;
    if (column->type == HDF5_F32) {
        float number = row->known[i] ? (float)row->values[i].f64 : -1;
        memcpy(out, &number, sizeof number);
        return;
    }
    bool fits = row->known[i] && (row->backend->columns[i].type == COLMET_I64 || row->values[i].u64 <= INT64_MAX);
    int64_t number = fits ? row->values[i].i64 : -1;
    memcpy(out, &number, sizeof number);
}

static void pack_column(const struct hdf5_column *column, const struct colmet_row *row, size_t label, uint8_t *out)
{
    int64_t number = (int64_t)(column->source == HDF5_JOB ? row->job : row->time_s);
    switch (column->source) {
    case HDF5_VALUE: pack_value(column, row, out); break;
    case HDF5_HOST: pack_string(out, column->size, row->host); break;
    case HDF5_BACKEND: pack_string(out, column->size, row->backend->name); break;
    case HDF5_JOB:
    case HDF5_TIME: memcpy(out, &number, sizeof number); break;
    case HDF5_INVOLVED: colmet_rows_involved(row, (char *)out, column->size); break;
    case HDF5_COUNTER: pack_string(out, column->size, row->backend->columns[label].name); break;
    case HDF5_MEANING: pack_string(out, column->size, row->labels[label]); break;
    }
}

void hdf5_layout_pack(const struct hdf5_layout *layout, const struct colmet_row *row, uint8_t *out)
{
    for (size_t i = 0; i < layout->count; i++)
        pack_column(&layout->columns[i], row, 0, out + layout->columns[i].offset);
}

void hdf5_layout_pack_label(const struct hdf5_layout *layout, const struct colmet_row *row, size_t label, uint8_t *out)
{
    for (size_t i = 0; i < layout->count; i++)
        pack_column(&layout->columns[i], row, label, out + layout->columns[i].offset);
}
