/* Which job we are in, as the batch system tells it through the environment: Slurm, PBS, OAR. */
#ifndef SONDE_JOBS_JOB_ID_H
#define SONDE_JOBS_JOB_ID_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define JOB_ID_MAX 128

struct job_id {
    char id[JOB_ID_MAX];   /* "" : no batch system */
    char name[JOB_ID_MAX]; /* "" : none given */
};

/* Values that are empty, too long or hold control characters are as if not set. */
void job_id_from_environment(struct job_id *id);

/* The same from another environment than ours: find gives the value of a variable, or NULL. */
void job_id_from(struct job_id *id, const char *(*find)(const void *context, const char *name), const void *context);

/* For runs outside of a batch system: "20261115-201354-27013-k7qd", local time, pid and chance: containers have the same
 * small pids, and nodes may share a store. */
void job_id_generate(uint64_t time_ns, uint32_t pid, char out[JOB_ID_MAX]);

/* Whether job_id_generate could have made it for this pid; no batch system gives such ids. */
bool job_id_is_generated(const char *id, uint32_t pid);

#endif
