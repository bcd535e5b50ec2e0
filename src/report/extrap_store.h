/* The metrics of a job under tau's names, which Extra-P's models of tau profiles use. */
#ifndef SONDE_REPORT_EXTRAP_STORE_H
#define SONDE_REPORT_EXTRAP_STORE_H

#include "analysis/mpi.h"
#include "report/metric_list.h"
#include "store/store.h"

/* Adds a copy of name and its value, unless that is unknown. NOMEM. */
enum err extrap_store_add(struct metric_list *list, const char *name, double value);

/* MPI and system calls, program counters and gauges (their sums), and the elapsed and CPU time of the job. */
enum err extrap_store_metrics(struct metric_list *list, const struct store_job *job, const struct job_metrics *metrics,
                              const struct mpi *mpi);

#endif
