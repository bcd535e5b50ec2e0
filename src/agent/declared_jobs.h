/* Jobs that were told (sonde job begin, sonde run), kept in a file beside the agent's socket: one that is started anew finds the
 * others by itself, and knows these from there. */
#ifndef SONDE_AGENT_DECLARED_JOBS_H
#define SONDE_AGENT_DECLARED_JOBS_H

#include "jobs/jobs.h"

#include <stdbool.h>

/* Is it one that nobody would find? */
bool told_jobs_is(const struct job *job);

/* Writes those that run; without any the file goes. socket: the path of the socket. root: of /proc. */
enum err told_jobs_write(const char *socket, const char *root, const struct jobs *jobs);

/* Tells jobs of them. Those whose process or cgroup has gone meanwhile are left out. How many there were. */
size_t told_jobs_read(const char *socket, struct jobs *jobs);

#endif
