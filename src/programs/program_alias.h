/* The names under which tau_metric_proxy's users know what our probes count: mpi_calls_total{function="MPI_Send"} is served as
 * tau_hits_total{function="mpi_send"} too. From program_cells.c, which lets an alias count with what it stands for. */
#ifndef SONDE_PROGRAMS_PROGRAM_ALIAS_H
#define SONDE_PROGRAMS_PROGRAM_ALIAS_H

#include "programs/program_table.h"

#define PROGRAM_ALIASES_MAX 6u

/* The metrics of the table that are to count what metric counts; made where they are new. Returns how many. The caller
 * has them in use (program_room.h). */
size_t program_alias_metrics(struct program_table *table, const struct program_metric *metric,
                             struct program_metric *aliases[PROGRAM_ALIASES_MAX]);

#endif
