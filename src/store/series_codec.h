/* Rows of one set as compact bytes: the column data of the table series. The format is told in docs/schema.md. */
#ifndef SONDE_STORE_SERIES_CODEC_H
#define SONDE_STORE_SERIES_CODEC_H

#include "model/run.h"

#define SERIES_CHUNK_ROWS 4096u

/* Adds rows first .. first + count - 1. NOMEM. */
enum err series_encode(struct buf *out, const struct run_series *series, size_t first, size_t count);

/* How many rows and columns data holds, as it says itself. CORRUPT when that is beyond what series_encode makes. */
enum err series_measure(struct bytes data, size_t *rows, size_t *columns);

/* Decodes into arrays with room for the rows and columns that series_measure told. CORRUPT, NOMEM. */
enum err series_decode(struct bytes data, uint64_t *times_ns, union value *values, uint8_t *known);

#endif
