/* Writes rows with named columns (jobs, processes, threads) as CSV or JSON, for `sonde export`. */
#ifndef SONDE_SINKS_ROW_WRITER_H
#define SONDE_SINKS_ROW_WRITER_H

#include "net/json.h"
#include "sinks/output.h"

enum row_writer_format { ROW_WRITER_CSV, ROW_WRITER_JSON, ROW_WRITER_JSONL };

struct row_writer {
    struct output *output;
    enum row_writer_format format;
    const char *const *names;
    size_t count, at; /* number of columns; the next one */
    struct json json;
};

/* Borrows output and names until row_writer_end. Writes the header. */
void row_writer_begin(struct row_writer *writer, struct output *output, enum row_writer_format format,
                      const char *const *names, size_t count);

/* The next field, from left to right; after the last column the next row starts. */
void row_writer_string(struct row_writer *writer, struct bytes text);
void row_writer_u64(struct row_writer *writer, uint64_t value);
/* each ends with NUL: quoted for a shell in CSV, an array in JSON */
void row_writer_arguments(struct row_writer *writer, struct bytes arguments);
void row_writer_missing(struct row_writer *writer);                    /* an empty field in CSV, no key in JSON */

/* Call after each row: writes the buffer if it is large. */
enum err row_writer_write_if_large(struct row_writer *writer);

/* Ends the JSON array and flushes. */
enum err row_writer_end(struct row_writer *writer);

#endif
