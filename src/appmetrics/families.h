/* The families of the table of programs: what stands in one piece on the page of Prometheus, under a name that no other series
 * has. For table.c and program_page.c; under the table's lock. */
#ifndef SONDE_APPMETRICS_FAMILIES_H
#define SONDE_APPMETRICS_FAMILIES_H

#include "appmetrics/table.h"

/* The family of this name on the page; NULL: none. */
struct program_family *program_families_find(const struct program_table *table, struct bytes page_name);

/* Is the name a family's, or one that a histogram shows ("h_count" of "h")? */
bool program_families_has(const struct program_table *table, struct bytes page_name);

/* Is it one of the latter, or, of a histogram's, would it show a name of another family? */
bool program_families_is_shared(const struct program_table *table, struct bytes page_name, enum program_kind kind);

/* Finds or makes the family for a metric whose name on the page begins with base bytes. A family has one kind, and its series are
 * no other's: where the name is taken, page gets a longer one, "x_gauge" beside "x". NULL: no memory. */
struct program_family *program_families_of(struct program_table *table, struct buf *page, size_t *base, enum program_kind kind);

void program_families_add(struct program_family *family, struct program_metric *metric);

/* The family goes with its last metric. */
void program_families_remove(struct program_table *table, struct program_metric *metric);

#endif
