/* The connections of http_server.c: their states, deadlines, and which one is closed when there are too many. */
#ifndef SONDE_NET_HTTP_CONNECTION_H
#define SONDE_NET_HTTP_CONNECTION_H

#include "net/http_server.h"

enum http_event_source_kind { LISTENER, CONNECTION, TIMER };

/* What an epoll event refers to; first field of listeners and connections. */
struct http_event_source {
    enum http_event_source_kind kind;
    int fd;
};

struct http_connection;

/* All connections, and what they share. */
struct http_pool {
    struct http_handler handler;
    struct http_server_limits limits;
    int epoll_fd;
    struct http_connection *connections;
    size_t counts[2];    /* TCP, UNIX sockets */
    size_t answer_bytes; /* of answers, not sent yet */
    struct buf spare;    /* reused for the next answer */
};

/* Takes an accepted socket. If there are too many connections, another one is closed. */
void http_connection_take(struct http_pool *pool, int fd, bool is_local);

/* Handles epoll events. */
void http_connection_event(struct http_pool *pool, struct http_connection *connection, uint32_t events);

/* Closes the connection that is idle longest; false: none is idle. */
bool http_connection_close_idle(struct http_pool *pool, bool is_local);

/* Closes those that have passed their deadline. */
void http_connection_close_late(struct http_pool *pool, uint64_t now_ns);
void http_connection_close_all(struct http_pool *pool);

/* Answers requests that waited for memory. Closed connections are freed only here, because a pending event may point to
 * them. Returns the next deadline, or when a slow client can be closed for others that wait; UINT64_MAX: none. */
uint64_t http_connection_sweep(struct http_pool *pool);

#endif
