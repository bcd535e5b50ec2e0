/* Jobs of several sizes for Extra-P, one line of JSON per job and metric: from the job database, or from tau
 * profiles. */
#ifndef SONDE_REPORT_EXTRAP_H
#define SONDE_REPORT_EXTRAP_H

#include "analysis/mpi.h"
#include "compat/tau/profile.h"
#include "report/metric_list.h"
#include "sinks/output.h"
#include "store/store.h"

/* One measurement. */
struct extrap_job {
    char *id;
    double size; /* NAN: unknown */
    struct metric_list metrics;
};

struct extrap {
    struct extrap_job *jobs;
    size_t count, capacity;
};

void extrap_init(struct extrap *extrap);
void extrap_clear(struct extrap *extrap);

/* *why: why the job was skipped, NULL if it was not. From the job database: it is unfinished, failed, or its size is
 * unknown. */
enum err extrap_add_job(struct extrap *extrap, struct store *store, const struct store_job *job, const char **reason);

/* The same for a profile: a command in it failed, or its size is unknown. */
enum err extrap_add_profile(struct extrap *extrap, const struct tau_profile *profile, const char **reason);

/* Writes all jobs, smallest first; metrics that a job does not have are 0. has_callpath: with callpath and metric. */
enum err extrap_write(struct extrap *extrap, struct output *stream, bool has_callpath);

#endif
