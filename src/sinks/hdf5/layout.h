/* The binary layout of Colmet's tables: packed columns in alphabetical order; integers are i64 with -1 for missing
 * values, loads are f32, strings have a fixed size. Adds what Colmet's own files lack: columns, times, a table for
 * nvidia. */
#ifndef SONDE_SINKS_HDF5_LAYOUT_H
#define SONDE_SINKS_HDF5_LAYOUT_H

#include "compat/colmet/rows.h"

#define HDF5_COLUMNS_MAX (COLMET_COLUMNS_MAX + 8)
#define HDF5_LAYOUTS (COLMET_BACKENDS + 1)
#define HDF5_MAPPING COLMET_BACKENDS /* not a backend: labels of the counters, by host and time */

enum hdf5_type { HDF5_I64, HDF5_F32, HDF5_TEXT };

/* Source of a column's value. */
enum hdf5_source { HDF5_VALUE, HDF5_HOST, HDF5_JOB, HDF5_BACKEND, HDF5_TIME, HDF5_INVOLVED, HDF5_COUNTER, HDF5_MEANING };

struct hdf5_column {
    const char *name;
    enum hdf5_type type;
    enum hdf5_source source;
    size_t value;        /* HDF5_VALUE: index in the row */
    size_t offset, size; /* bytes */
};

struct hdf5_layout {
    const char *name; /* of the backend */
    struct hdf5_column columns[HDF5_COLUMNS_MAX];
    size_t count, row_size, chunk_rows;
};

/* id: a backend, or HDF5_MAPPING. involved_size: bytes for the list of jobs on a node. */
void hdf5_layout_make(struct hdf5_layout *layout, int id, size_t involved_size);

/* Writes row_size bytes to out. */
void hdf5_layout_pack(const struct hdf5_layout *layout, const struct colmet_row *row, uint8_t *out);

/* HDF5_MAPPING: a row with the label of column i. */
void hdf5_layout_pack_label(const struct hdf5_layout *layout, const struct colmet_row *row, size_t i, uint8_t *out);

#endif
