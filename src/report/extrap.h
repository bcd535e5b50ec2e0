/* Jobs of several sizes for Extra-P, a line of JSON per job and metric: from the store, or from profiles of tau's. */
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
    double size; /* NAN: not known */
    struct metric_list metrics;
};

struct extrap {
    struct extrap_job *jobs;
    size_t count, room;
};

void extrap_init(struct extrap *extrap);
void extrap_clear(struct extrap *extrap);

/* Why a job is left out: NULL when it is not. From the store: it has not ended, has failed, or its size is not known. */
enum err extrap_add_job(struct extrap *extrap, struct store *store, const struct store_job *job, const char **why);

/* … of a profile: a command in it failed, or its size is not known. */
enum err extrap_add_profile(struct extrap *extrap, const struct tau_profile *profile, const char **why);

/* Writes all, smallest job first; what a job has not told is 0. has_callpath: with callpath and metric. */
enum err extrap_write(struct extrap *extrap, struct stream *stream, bool has_callpath);

#endif
