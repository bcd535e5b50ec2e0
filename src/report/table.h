/* A table that fits the terminal: flexible columns are truncated, then low-ranking ones left out. Cells may contain any
 * bytes. */
#ifndef SONDE_REPORT_TABLE_H
#define SONDE_REPORT_TABLE_H

#include "report/terminal.h"

struct table_column {
    const char *title;
    bool right;     /* numbers */
    size_t min;     /* may be truncated to this width; 0: never truncated */
    unsigned rank;  /* columns are left out if empty or if the terminal is too narrow, the highest rank first; 0: never */
};

struct table_cell {
    size_t at, size; /* in text */
    size_t columns;
    enum colour colour;
};

struct table {
    const struct table_column *columns; /* borrowed */
    size_t column_count;
    bool utf8;
    struct table_cell *cells; /* row after row */
    size_t count, capacity;
    struct buf text;
};

#define TABLE_COLUMNS_MAX 24

/* utf8: as of the terminal that it will be printed on. */
void table_init(struct table *table, const struct table_column *columns, size_t column_count, bool utf8);
void table_clear(struct table *table);

/* Adds the next cell, from left to right; after the last column the next row starts. Copies text. */
void table_add(struct table *table, enum colour colour, struct bytes text);
void table_add_text(struct table *table, enum colour colour, const char *text);

/* Adds the table with its titles to out. NOMEM if a cell was lost. */
enum err table_print(const struct table *table, const struct terminal *terminal, struct buf *out);

#endif
