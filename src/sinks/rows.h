/* Rows with named columns (jobs, processes, threads), as CSV or JSON, through a stream. */
#ifndef SONDE_SINKS_ROWS_H
#define SONDE_SINKS_ROWS_H

#include "net/json.h"
#include "sinks/output.h"

enum rows_format { ROWS_CSV, ROWS_JSON, ROWS_JSONL };

struct rows {
    struct stream *stream;
    enum rows_format format;
    const char *const *names;
    size_t count, at; /* columns; the next one */
    struct json json;
};

/* Borrows stream and names until rows_end. Writes the titles. */
void rows_begin(struct rows *rows, struct stream *stream, enum rows_format format, const char *const *names, size_t count);

/* The next field, from left to right; behind the last column the next row begins. */
void rows_text(struct rows *rows, struct bytes text);
void rows_u64(struct rows *rows, uint64_t value);
void rows_words(struct rows *rows, struct bytes words); /* NUL after each: as a shell takes them in CSV, an array in JSON */
void rows_absent(struct rows *rows);                    /* not known: an empty field in CSV, no key in JSON */

/* After each row: writes when enough has come together. */
enum err rows_pass(struct rows *rows);

/* Ends the array, and writes all. */
enum err rows_end(struct rows *rows);

#endif
