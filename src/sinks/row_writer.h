/* Rows with named columns (jobs, processes, threads), as CSV or JSON, through a output. */
#ifndef SONDE_SINKS_ROW_WRITER_H
#define SONDE_SINKS_ROW_WRITER_H

#include "net/json.h"
#include "sinks/output.h"

enum row_writer_format { ROW_WRITER_CSV, ROW_WRITER_JSON, ROW_WRITER_JSONL };

struct row_writer {
    struct output *output;
    enum row_writer_format format;
    const char *const *names;
    size_t count, at; /* columns; the next one */
    struct json json;
};

/* Borrows output and names until row_writer_end. Writes the titles. */
void row_writer_begin(struct row_writer *rows, struct output *output, enum row_writer_format format, const char *const *names, size_t count);

/* The next field, from left to right; behind the last column the next row begins. */
void row_writer_string(struct row_writer *rows, struct bytes text);
void row_writer_u64(struct row_writer *rows, uint64_t value);
void row_writer_arguments(struct row_writer *rows, struct bytes words); /* NUL after each: as a shell takes them in CSV, an array in JSON */
void row_writer_missing(struct row_writer *rows);                    /* not known: an empty field in CSV, no key in JSON */

/* After each row: writes when enough has come together. */
enum err row_writer_write_if_large(struct row_writer *rows);

/* Ends the array, and writes all. */
enum err row_writer_end(struct row_writer *rows);

#endif
