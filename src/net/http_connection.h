/* The connections of http.c: what each is at, and who must go when there are too many. */
#ifndef SONDE_NET_HTTP_CONNECTION_H
#define SONDE_NET_HTTP_CONNECTION_H

#include "net/http.h"

enum http_source_kind { LISTENER, CONNECTION, TIMER };

/* What an event of epoll belongs to. */
struct http_source {
    enum http_source_kind kind;
    int fd;
};

struct http_connection;

/* All of them, and what they share. */
struct http_pool {
    struct http_handler handler;
    struct http_limits limits;
    int epoll_fd;
    struct http_connection *connections;
    size_t counts[2];    /* of TCP, of UNIX sockets */
    size_t answer_bytes; /* that were made and are not sent yet */
    struct buf spare;    /* for the next answer */
};

/* Takes an accepted socket. Beyond the maximum, another connection is closed for it. */
void http_connection_take(struct http_pool *pool, int fd, bool is_local);

/* What epoll told of it. */
void http_connection_turn(struct http_pool *pool, struct http_connection *connection, uint32_t events);

/* Closes one that says nothing; false: there is none. */
bool http_connection_close_idle(struct http_pool *pool, bool is_local);

/* Closes those whose time is over. */
void http_connection_close_late(struct http_pool *pool, uint64_t now_ns);
void http_connection_close_all(struct http_pool *pool);

/* Answers those that wait for room. Closed ones are freed only here: an event of the same turn may still point at them.
 * Returns when to come again, since the time of one is over then, or one is slow while others wait; UINT64_MAX: never. */
uint64_t http_connection_sweep(struct http_pool *pool);

#endif
