/* The server on the UNIX socket of tau_metric_proxy, in a thread of its own: thousands of clients, fast, slow or
 * broken, do not delay the agent's ticks. Their messages go through connection.c into the registry. */
#ifndef SONDE_COMPAT_TAU_SERVER_H
#define SONDE_COMPAT_TAU_SERVER_H

#include "compat/tau/connection.h"

#define TAU_PATH_MAX 108

struct tau_server;

/* Where the clients of a user connect, unless TAU_METRIC_PROXY is set. */
void tau_server_default_path(char path[TAU_PATH_MAX], uint32_t uid);

/* Listens on path and starts the thread. endpoint is borrowed. AGAIN: somebody listens there already; DENIED: what is
 * there belongs to another user; USAGE: the path is too long, or not a socket. error gets a message. */
enum err tau_server_open(struct tau_server **server, const char *path, struct tau_endpoint *endpoint, struct buf *error);

/* Creates the socket again if somebody has deleted it, for example a service that cleans /tmp. NULL is fine. */
void tau_server_check_socket(struct tau_server *server);

/* A job has ended: clients in it count for their users from now on. Under the registry's lock. NULL is fine. */
void tau_server_leave_job(struct tau_server *server, const struct scope *scope);

/* Stops the thread when it has read what clients have sent so far; they stay connected. NULL is fine. */
void tau_server_stop(struct tau_server *server);

/* The same; closes the connections, and removes the socket if it is still ours. NULL is fine. */
void tau_server_close(struct tau_server **server);

#endif
