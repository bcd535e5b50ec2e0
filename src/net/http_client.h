/* A small HTTP/1.1 client: one request and one answer per connection, over a UNIX socket or TCP, within a deadline. */
#ifndef SONDE_NET_HTTP_CLIENT_H
#define SONDE_NET_HTTP_CLIENT_H

#include "base/buf.h"

#include <stdint.h>

struct http_client_request {
    const char *method, *path; /* "GET" or "POST"; "/jobs" */
    struct bytes body;
    int file_fd; /* sent along (net/fd_pass.h), only over a UNIX socket; -1: none */
    const char *authorization; /* the Authorization header; NULL: none */
};

/* Connects. until_ns is CLOCK_MONOTONIC; 0: fails instead of waiting. ABSENT: nothing listens there; DENIED; AGAIN: not
 * within the time; USAGE: invalid address. */
enum err http_client_connect_unix(const char *path, uint64_t until_ns, int *fd);

/* address: "HOST", "HOST:PORT", "[::1]:PORT" or "::1". */
enum err http_client_connect_tcp(const char *address, uint16_t default_port, uint64_t until_ns, int *fd);

/* Sends the request, appends the body of the answer and closes fd. *status is the HTTP status, 0 without an answer.
 * ABSENT: the connection was closed; AGAIN: no answer within the time; CORRUPT: not HTTP, or truncated; FULL: more than
 * answer can hold. */
enum err http_client_request(int fd, const struct http_client_request *request, uint64_t until_ns, struct buf *answer,
                             int *status);

/* Sends as much as the socket takes at once, waits for nothing and closes fd. */
void http_client_send(int fd, const struct http_client_request *request);

#endif
