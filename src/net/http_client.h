/* Asks an agent: one HTTP request, one answer, through the agent's UNIX socket on this machine or over TCP. */
#ifndef SONDE_NET_HTTP_CLIENT_H
#define SONDE_NET_HTTP_CLIENT_H

#include "base/buf.h"

#include <stdint.h>

#define ASK_PORT 1337
#define ASK_SOCKET "agent.sock"
#define ASK_SOCKET_COLLECTOR "collector.sock"
#define ASK_TIMEOUT_NS 10000000000ull
#define ASK_PATH_MAX 108 /* of a UNIX socket, with the NUL */

/* where: "" is this machine's agent; "HOST", "HOST:PORT" and "[::1]:PORT" an agent that listens on TCP; a path that begins
 * with '/' is its socket. method is "GET" or "POST", path "/jobs". The body of the answer is added to answer, whose maximum
 * holds; *status is the number of HTTP, 0 where there was no answer.
 * ABSENT: nobody listens there; DENIED: one may not connect; AGAIN: no answer within 10 s; USAGE: where makes no sense;
 * CORRUPT: it does not speak HTTP; FULL: the answer is too large. */
enum err ask(const char *where, const char *method, const char *path, struct bytes body, struct buf *answer, int *status);

/* The same of this machine's agent, which has so long to answer: for whoever is waited for. */
enum err ask_here(const char *method, const char *path, struct bytes body, uint64_t timeout_ns, struct buf *answer, int *status);

/* POST to this machine's agent, with an open file that it may read: it may not find it by a path. An agent that does not know of
 * such does not notice. */
enum err ask_handing(int file_fd, const char *path, struct bytes body, struct buf *answer, int *status);

/* The place of the agent's socket: $SONDE_SOCKET_DIR, else /run/sonde for root, else $XDG_RUNTIME_DIR/sonde, else
 * /run/user/UID/sonde, else /tmp/sonde-UID. ABSENT: there is none that is safe, or it is too long. */
enum err ask_socket_path(char path[ASK_PATH_MAX]);
enum err ask_socket_named(const char *name, char path[ASK_PATH_MAX]); /* the same, of another than the agent */

/* Where the agent of this machine listens, as ask("") finds it; path is the last place that was tried. ABSENT, DENIED, AGAIN as
 * above. */
enum err ask_find(char path[ASK_PATH_MAX]);

/* Is there a socket of an agent on this machine? Whether anybody listens is another question. */
bool ask_is_there(void);

/* Tells the agent of this machine something, if there is one, and does not wait: neither for it to take it nor for an
 * answer. Without an agent it costs a few system calls. */
void ask_tell(const char *path, struct bytes body);

#endif
