/* The id of the job that this process runs in, from the environment variables of Slurm, PBS and OAR; and generated
 * ids. */
#ifndef SONDE_JOBS_JOB_ID_H
#define SONDE_JOBS_JOB_ID_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define JOB_ID_MAX 128

struct job_id {
    char id[JOB_ID_MAX];   /* "": no batch system */
    char name[JOB_ID_MAX]; /* "": none */
};

/* Empty or too long values and those with control characters count as unset. */
void job_id_from_environment(struct job_id *id);

/* The same for another environment: find returns the value of a variable, or NULL. */
void job_id_from(struct job_id *id, const char *(*find)(const void *context, const char *name), const void *context);

/* For runs outside of a batch system: "20261115-201354-27013-k7qd": local time, pid and a random suffix, because
 * containers reuse small pids and nodes may share a job database. */
void job_id_generate(uint64_t time_ns, uint32_t pid, char out[JOB_ID_MAX]);

/* Could job_id_generate have generated it for this pid? No batch system uses such ids. */
bool job_id_is_generated(const char *id, uint32_t pid);

/* Is the time in a generated id that of a process which started then? In any time zone, because the user's may be another. */
bool job_id_is_of_time(const char *id, uint64_t start_ns);

#endif
