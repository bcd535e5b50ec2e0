/* Declared jobs (sonde job begin, sonde run), saved in a file beside the agent's socket. A restarted agent discovers
 * all other jobs itself and loads these from the file. */
#ifndef SONDE_AGENT_DECLARED_JOBS_H
#define SONDE_AGENT_DECLARED_JOBS_H

#include "jobs/jobs.h"

#include <stdbool.h>

/* Is it a job that cannot be discovered? */
bool declared_jobs_is(const struct job *job);

/* Saves the running ones; removes the file if there are none. socket: path of the socket. root: prefix of /proc. */
enum err declared_jobs_write(const char *socket, const char *root, const struct jobs *jobs);

/* Adds the saved jobs. Those whose process or cgroup no longer exists are skipped. Returns how many were added. */
size_t declared_jobs_read(const char *socket, struct jobs *jobs);

#endif
