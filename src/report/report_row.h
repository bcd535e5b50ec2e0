/* A row of a table in the report: all tables have the same columns at the same places, a name and seven figures. */
#ifndef SONDE_REPORT_REPORT_ROW_H
#define SONDE_REPORT_REPORT_ROW_H

#include "base/text.h"
#include "report/page.h"

#define REPORT_CELLS 7

struct report_row {
    struct bytes name;
    struct text cells[REPORT_CELLS]; /* "": empty */
};

/* BOLD begins at the left, others are indented. */
void report_row_add(struct page *page, const struct report_row *row, enum colour colour);

/* An empty line, then the titles. */
void report_row_titles(struct page *page, const char *name, const char *const titles[REPORT_CELLS]);

/* Figures that fit their columns: thousands are marked as long as there is room; days have to do without their hours. */
struct text report_row_count(uint64_t value);
struct text report_row_duration(uint64_t ns);

#endif
