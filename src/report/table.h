/* Columns that fit the terminal: what is flexible is cut, then what ranks low is left out. Cells may hold any bytes. */
#ifndef SONDE_REPORT_TABLE_H
#define SONDE_REPORT_TABLE_H

#include "report/terminal.h"

struct table_column {
    const char *title;
    bool right;     /* numbers */
    size_t min;     /* may be cut to this width when room is short; 0: is never cut */
    unsigned rank;  /* left out when it is empty or room is short, the highest rank first; 0: always shown */
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
    size_t count, room;
    struct buf text;
};

#define TABLE_COLUMNS_MAX 24

/* utf8: as the terminal's on which it will be printed. */
void table_init(struct table *table, const struct table_column *columns, size_t column_count, bool utf8);
void table_clear(struct table *table);

/* The next cell, from left to right; behind the last column the next row begins. Copies text. */
void table_add(struct table *table, enum colour colour, struct bytes text);
void table_add_text(struct table *table, enum colour colour, const char *text);

/* Adds the whole table with its titles to out. NOMEM when a cell was lost. */
enum err table_print(const struct table *table, const struct terminal *terminal, struct buf *out);

#endif
