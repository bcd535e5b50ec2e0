/* A small HTTP/1.1 server: requests from TCP and UNIX sockets go to one handler, its answers go back. One epoll, no
 * thread, nothing blocks: whoever reads slowly, says nothing or talks nonsense costs a bounded amount of memory for a
 * bounded time, and nobody else anything. */
#ifndef SONDE_NET_HTTP_H
#define SONDE_NET_HTTP_H

#include "net/http_request.h"

#define HTTP_ANSWER_MAX (256u << 20) /* of one answer */

struct http_answer {
    int status;          /* 200 at first */
    const char *type;    /* of the body: a constant */
    const char *allow;   /* with 405: what would do; NULL: none */
    struct buf body;
};

/* Called for each request; fills answer, which is empty. */
struct http_handler {
    void (*answer)(void *context, const struct http_request *request, struct http_answer *answer);
    void *context;
};

struct http_limits {
    size_t connections;   /* of TCP and of UNIX sockets, each; beyond it the one that was idle longest must go */
    size_t answer_bytes;  /* of all that is not sent yet; beyond it requests wait, and slow readers must go for them */
    uint64_t idle_ns;     /* between two requests */
    uint64_t request_ns;  /* from a request's first byte to its last */
    uint64_t answer_ns;   /* for taking an answer, and for waiting until there is room for it */
    uint64_t stall_ns;    /* slow is who takes nothing for so long, */
    uint64_t share_ns;    /* or is not ready after this time */
};

extern const struct http_limits http_limits_usual;

struct http;

/* limits may be NULL: the usual ones. The handler is copied. */
enum err http_open(struct http **http, const struct http_handler *handler, const struct http_limits *limits);
void http_close(struct http **http);

/* Takes a listening socket that does not block, and closes it at the end. */
enum err http_listen_take(struct http *http, int fd, bool is_local);

int http_fd(const struct http *http);           /* readable: call http_turn */
void http_turn(struct http *http);              /* never blocks */
size_t http_connections(const struct http *http);
size_t http_answer_bytes(const struct http *http); /* that were made and are not sent yet */

#endif
