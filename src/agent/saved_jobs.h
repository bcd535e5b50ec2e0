/* The jobs of the node, saved in a file beside the agent's socket. A restarted agent continues those that still exist, and
 * reports the end of the others, which it has missed. */
#ifndef SONDE_AGENT_SAVED_JOBS_H
#define SONDE_AGENT_SAVED_JOBS_H

#include "jobs/jobs.h"

/* Removes the file if there are no jobs. socket: path of the socket. root: prefix of /proc. */
enum err saved_jobs_write(const char *socket, const char *root, const struct jobs *jobs);

/* Continues or ends the saved jobs. After a reboot all of them have ended. */
void saved_jobs_read(const char *socket, struct jobs *jobs);

#endif
