/* Requests to an agent or a collector: where its socket is, and one HTTP request with its answer. */
#ifndef SONDE_API_AGENT_CLIENT_H
#define SONDE_API_AGENT_CLIENT_H

#include "base/buf.h"

#include <stdint.h>

#define AGENT_CLIENT_PORT 1337
#define AGENT_CLIENT_AUTH "SONDE_AUTH" /* "munge": requests over TCP carry a munge credential of the user */
#define AGENT_CLIENT_SOCKET "agent.sock"
#define AGENT_CLIENT_SOCKET_COLLECTOR "collector.sock"
#define AGENT_CLIENT_TIMEOUT_NS 10000000000ull
#define AGENT_CLIENT_PATH_MAX 108 /* of a UNIX socket, with the NUL */

/* where: "" is the agent of this node; "HOST", "HOST:PORT" and "[::1]:PORT" an agent that listens on TCP; a path that
 * begins with '/' is a socket. method is "GET" or "POST", path "/jobs". The body of the answer is appended to answer;
 * *status is the HTTP status, 0 without an answer.
 * ABSENT: nothing listens there; DENIED: no permission to connect; AGAIN: no answer within 10 s; USAGE: where is invalid;
 * CORRUPT: the answer is not HTTP; FULL: the answer is larger than answer can hold. */
enum err agent_client_request(const char *where, const char *method, const char *path, struct bytes body, struct buf *answer,
                              int *status);

/* The same for the agent of this node, with another timeout. */
enum err agent_client_request_local(const char *method, const char *path, struct bytes body, uint64_t timeout_ns,
                                    struct buf *answer, int *status);

/* POST to the agent of this node, with an open file for it to read: its path may mean nothing to the agent (mount
 * namespaces). An agent that expects no file ignores it. */
enum err agent_client_post_fd(int file_fd, const char *path, struct bytes body, struct buf *answer, int *status);

/* POST to the agent of this node, if there is one, without waiting for anything. Without an agent it costs a few system
 * calls. */
void agent_client_post_nowait(const char *path, struct bytes body);

/* Path of the agent's socket: in $SONDE_SOCKET_DIR, else /run/sonde for root, else $XDG_RUNTIME_DIR/sonde, else
 * /run/user/UID/sonde, else /tmp/sonde-UID. ABSENT: none of them is safe, or the path is too long. */
enum err agent_client_socket(char path[AGENT_CLIENT_PATH_MAX]);
enum err agent_client_socket_named(const char *name, char path[AGENT_CLIENT_PATH_MAX]); /* another socket than the agent's */

/* The socket on which the agent of this node listens; path is the last one that was tried. ABSENT, DENIED, AGAIN as
 * above. */
enum err agent_client_find(char path[AGENT_CLIENT_PATH_MAX]);

/* Is there a socket of an agent on this node? It does not tell whether anything listens there. */
bool agent_client_exists(void);

#endif
