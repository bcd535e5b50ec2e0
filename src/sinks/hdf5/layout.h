/* The rows of Colmet's tables as bytes: columns in alphabetical order, packed; every whole number an i64 that is -1 where it is
 * not known, loads f32, texts of a fixed size. What its own files lack (columns, times, a table for nvidia) is there. */
#ifndef SONDE_SINKS_HDF5_LAYOUT_H
#define SONDE_SINKS_HDF5_LAYOUT_H

#include "compat/colmet/rows.h"

#define HDF5_COLUMNS_MAX (COLMET_COLUMNS_MAX + 8)
#define HDF5_LAYOUTS (COLMET_BACKENDS + 1)
#define HDF5_MAPPING COLMET_BACKENDS /* the layout that is no backend: what counters are, on which host, since when */

enum hdf5_type { HDF5_I64, HDF5_F32, HDF5_TEXT };

/* Where its value comes from. */
enum hdf5_origin { HDF5_VALUE, HDF5_HOST, HDF5_JOB, HDF5_BACKEND, HDF5_TIME, HDF5_INVOLVED, HDF5_COUNTER, HDF5_MEANING };

struct hdf5_column {
    const char *name;
    enum hdf5_type type;
    enum hdf5_origin origin;
    size_t value;        /* of HDF5_VALUE: its place in the row */
    size_t offset, size; /* bytes */
};

struct hdf5_layout {
    const char *name; /* of the backend */
    struct hdf5_column columns[HDF5_COLUMNS_MAX];
    size_t count, row_size, chunk_rows;
};

/* id: of a backend, or HDF5_MAPPING. involved_size: bytes for the jobs of a node. */
void hdf5_layout_make(struct hdf5_layout *layout, int id, size_t involved_size);

/* row_size bytes. */
void hdf5_layout_pack(const struct hdf5_layout *layout, const struct colmet_row *row, uint8_t *out);

/* Of HDF5_MAPPING: that column i of row is what its label says. */
void hdf5_layout_pack_label(const struct hdf5_layout *layout, const struct colmet_row *row, size_t i, uint8_t *out);

#endif
