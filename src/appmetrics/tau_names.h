/* The names under which tau_metric_proxy's users know what our probes count: mpi_calls_total{function="MPI_Send"} is served as
 * tau_hits_total{function="mpi_send"} too. From cells.c, which lets an alias count with what it stands for. What a store
 * has kept gets the same names in report/extrap_store.c. */
#ifndef SONDE_APPMETRICS_TAU_NAMES_H
#define SONDE_APPMETRICS_TAU_NAMES_H

#include "appmetrics/table.h"

#define PROGRAM_ALIASES_MAX 6u

/* What a system call is in tau's sums of those that read and of those that write, as tau_strace parts them. */
enum program_alias_way { PROGRAM_ALIAS_OTHER, PROGRAM_ALIAS_READS, PROGRAM_ALIAS_WRITES };
enum program_alias_way program_alias_way(const char *call);

/* The metrics of the table that are to count what metric counts; made where they are new. Returns how many. The caller
 * has them in use (quota.h). */
size_t program_alias_metrics(struct program_table *table, const struct program_metric *metric,
                             struct program_metric *aliases[PROGRAM_ALIASES_MAX]);

#endif
