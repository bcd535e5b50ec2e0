/* The metrics that the programs of a job published, as of the end of the job: the last sample of each series of the
 * sets in model/program_sets.h, summed over hosts and runs. If both an agent and sonde run recorded a job on one host,
 * only one of them counts. Filled from store_series; read by analysis/mpi.c, analysis/syscall_stats.c, the report and
 * Extra-P. */
#ifndef SONDE_ANALYSIS_JOB_METRICS_H
#define SONDE_ANALYSIS_JOB_METRICS_H

#include "model/dictionary.h"
#include "model/run.h"

enum job_metrics_set { JOB_METRICS_COUNTER, JOB_METRICS_GAUGE, JOB_METRICS_MPI, JOB_METRICS_PEER, JOB_METRICS_SYSCALL,
                      JOB_METRICS_SYSCALL_TIME, JOB_METRICS_SETS };

struct job_metrics_span {
    uint64_t first_ns, last_ns; /* last_ns 0: none */
};

/* One instance of a set, such as a metric with labels. */
struct job_metrics_row {
    const char *instance;
    const char *host; /* of the last series */
    struct job_metrics_span agent, runs; /* when each of them recorded it; on that host, except for MPI ranks */
    uint32_t series;              /* number of series added */
    bool lacks_calls;             /* a series has bytes of system calls but no number of calls, so the total is unknown */
};

/* Rows in the order of arrival; values has width times the parts in job_metrics.c for each row. NAN: unknown. */
struct job_metrics_table {
    struct job_metrics_row *rows;
    double *values;
    size_t count, capacity, width;
    struct dictionary index;
};

struct job_metrics {
    struct job_metrics_table tables[JOB_METRICS_SETS];
    struct job_metrics_string *strings; /* owns instances and hosts */
    const char *host;        /* of the last series */
};

void job_metrics_init(struct job_metrics *metrics);
void job_metrics_clear(struct job_metrics *metrics);

/* Adds a series of one of the sets; others are ignored. Must be called host by host, as store_series does. NOMEM. */
enum err job_metrics_add(struct job_metrics *metrics, const char *host, const struct run_series *series);

/* One value of a row; column is one of the enums in model/program_sets.h. NAN: unknown. */
double job_metrics_value(const struct job_metrics *metrics, enum job_metrics_set set, size_t row, size_t column);

/* All values of a row; valid until the next job_metrics_add. */
const double *job_metrics_values(const struct job_metrics *metrics, enum job_metrics_set set, size_t row);

#endif
