/* The metrics of a job of the store under the names that tau gives them: what Extra-P's models of tau's profiles are made of. */
#ifndef SONDE_REPORT_EXTRAP_STORE_H
#define SONDE_REPORT_EXTRAP_STORE_H

#include "analysis/mpi.h"
#include "report/metric_list.h"
#include "store/store.h"

/* Adds name, which is copied, and its value; what is not known is left out. NOMEM. */
enum err extrap_store_add(struct metric_list *list, const char *name, double value);

/* MPI and system calls, the programs' own counters and gauges (their sums), and the time and CPU time of the job. */
enum err extrap_store_metrics(struct metric_list *list, const struct store_job *job, const struct told *told,
                              const struct mpi *mpi);

#endif
