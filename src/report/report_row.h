/* A row of a table in the report: all tables have the same columns, a name and seven numbers. */
#ifndef SONDE_REPORT_REPORT_ROW_H
#define SONDE_REPORT_REPORT_ROW_H

#include "base/format.h"
#include "report/page.h"

#define REPORT_CELLS 7

struct report_row {
    struct bytes name;
    struct format_text cells[REPORT_CELLS]; /* "": empty */
};

/* BOLD starts at the left margin, others are indented. */
void report_row_add(struct page *page, const struct report_row *row, enum colour colour);

/* An empty line, then the column titles. */
void report_row_titles(struct page *page, const char *name, const char *const titles[REPORT_CELLS]);

/* Numbers that fit their columns: with thousands separators while they fit; long durations in days without hours. */
struct format_text report_row_count(uint64_t value);
struct format_text report_row_duration(uint64_t ns);

#endif
