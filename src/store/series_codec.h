/* Rows of one set as compact bytes: the column data of the table series. docs/schema.md defines the format. */
#ifndef SONDE_STORE_SERIES_CODEC_H
#define SONDE_STORE_SERIES_CODEC_H

#include "model/run.h"

#define SERIES_CHUNK_ROWS 4096u

/* Appends rows first .. first + count - 1. NOMEM. */
enum err series_encode(struct buf *out, const struct run_series *series, size_t first, size_t count);

/* The number of rows and columns according to the header of data. CORRUPT: more than series_encode writes. */
enum err series_measure(struct bytes data, size_t *rows, size_t *columns);

/* Decodes into arrays with capacity for the rows and columns returned by series_measure. CORRUPT, NOMEM. */
enum err series_decode(struct bytes data, uint64_t *times_ns, union value *values, uint8_t *known);

#endif
