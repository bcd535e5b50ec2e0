/* A small HTTP/1.1 server: passes requests from TCP and UNIX sockets to one handler and sends its answers. One epoll, no
 * threads, no blocking: a client that is slow, silent or sends garbage costs a bounded amount of memory for a bounded time
 * and does not delay other clients. */
#ifndef SONDE_NET_HTTP_SERVER_H
#define SONDE_NET_HTTP_SERVER_H

#include "net/http_request.h"

#define HTTP_ANSWER_MAX (256u << 20) /* bytes of one answer */

struct http_answer {
    int status;          /* 200 by default */
    const char *type;    /* Content-Type: a constant */
    const char *allow;   /* with 405: the allowed methods; NULL: none */
    struct buf body;
};

/* Called for each request; fills in the empty answer. */
struct http_handler {
    void (*answer)(void *context, const struct http_request *request, struct http_answer *answer);
    void *context;
};

struct http_server_limits {
    size_t connections;   /* TCP and UNIX sockets each; above it one of the user or address with most is closed */
    size_t answer_bytes;  /* unsent bytes of all answers; above it requests wait, and slow clients are closed */
    uint64_t idle_ns;     /* between two requests */
    uint64_t request_ns;  /* from the first byte of a request to the last */
    uint64_t answer_ns;   /* for receiving an answer, and for waiting until there is memory for it */
    uint64_t stall_ns;    /* a client is slow if it receives nothing for this long, */
    uint64_t share_ns;    /* or has not received everything after this time */
};

extern const struct http_server_limits http_server_default_limits;

struct http_server;

/* limits: NULL for the default ones. The handler is copied. */
enum err http_server_open(struct http_server **http, const struct http_handler *handler, const struct http_server_limits *limits);
void http_server_close(struct http_server **http);

/* Takes a non-blocking listening socket, which http_server_close closes. */
enum err http_server_listen_take(struct http_server *http, int fd, bool is_local);

int http_server_fd(const struct http_server *http);           /* when it is readable, call http_server_run */
void http_server_run(struct http_server *http);              /* never blocks */
size_t http_server_connections(const struct http_server *http);
size_t http_server_answer_bytes(const struct http_server *http); /* of answers, not sent yet */

#endif
