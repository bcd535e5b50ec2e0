/* Every series once on /metrics: two metrics whose names differ may come to the same one there, since some labels and names are
 * ours (program_name.c) and a family has one kind (program_families.c). For program_table.c; under its lock. */
#ifndef SONDE_PROGRAMS_PROGRAM_PAGES_H
#define SONDE_PROGRAMS_PROGRAM_PAGES_H

#include "programs/program_table.h"

/* Makes the page of a new name one that no metric has: where it is taken, the whole name stands in a label. False: no memory. */
bool program_pages_make_own(const struct program_table *table, struct program_name *name);

/* A metric comes, a metric goes. */
void program_pages_add(struct program_table *table, struct program_metric *metric);
void program_pages_remove(struct program_table *table, struct program_metric *metric);

#endif
