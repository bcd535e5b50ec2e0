/* The UNIX socket of tau_metric_proxy, kept by a thread of its own: thousands of clients, each of which may be fast, slow or
 * mad, cost the agent's ticks nothing. Their words go through connection.c into the table of programs. */
#ifndef SONDE_COMPAT_TAU_SERVER_H
#define SONDE_COMPAT_TAU_SERVER_H

#include "compat/tau/connection.h"

#define TAU_PATH_MAX 108

struct tau_server;

/* Where tau's clients of a user look, unless TAU_METRIC_PROXY says otherwise. */
void tau_server_default_path(char path[TAU_PATH_MAX], uint32_t uid);

/* Listens at path and starts the thread. endpoint is borrowed. AGAIN: somebody listens status already; DENIED: another user has
 * made what is status; USAGE: the path is too long, or no socket stands status. error gets a sentence. */
enum err tau_server_open(struct tau_server **server, const char *path, struct tau_endpoint *endpoint, struct buf *error);

/* Those who are connected and in this job count for their users from now on. Under the table's lock. NULL is fine. */
void tau_server_leave_job(struct tau_server *server, const struct scope *scope);

/* Ends the thread, once it has taken what clients have sent so far; they stay connected, and nothing is heard of them any more.
 * NULL is fine. */
void tau_server_stop(struct tau_server *server);

/* The same; closes them, and removes the socket, if it is still ours. NULL is fine. */
void tau_server_close(struct tau_server **server);

#endif
