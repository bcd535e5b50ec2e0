/* Every series once on /metrics: two metrics whose names differ may come to the same one there, since some labels and names are
 * ours (metric_name.c) and a family has one kind (families.c). For table.c; under its lock. */
#ifndef SONDE_APPMETRICS_PAGE_NAMES_H
#define SONDE_APPMETRICS_PAGE_NAMES_H

#include "appmetrics/table.h"

/* Makes the page of a new name one that no metric has: where it is taken, the whole name stands in a label. False: no memory. */
bool program_pages_make_own(const struct program_table *table, struct program_name *name);

/* A metric comes, a metric goes. */
void program_pages_add(struct program_table *table, struct program_metric *metric);
void program_pages_remove(struct program_table *table, struct program_metric *metric);

#endif
