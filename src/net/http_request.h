/* Parses the head of an HTTP/1.1 request. Safe for any input. */
#ifndef SONDE_NET_HTTP_REQUEST_H
#define SONDE_NET_HTTP_REQUEST_H

#include "base/buf.h"

#define HTTP_HEAD_MAX 8192u
#define HTTP_BODY_MAX 65536u

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OTHER };

/* The client. */
struct http_peer {
    bool is_local; /* through a UNIX socket */
    bool is_same_node;  /* from this node, through either: then uid comes from the kernel. Or proved by munge: api/viewer.h */
    uint32_t uid;  /* UINT32_MAX: unknown */
    uint32_t pid;  /* of the client of a UNIX socket; 0: unknown, or in a pid namespace that we cannot see */
};

/* Points into the bytes that were parsed. */
struct http_request {
    enum http_method method;
    struct bytes path, query; /* "/metrics", and what follows '?' */
    struct bytes host;        /* the Host header; empty: none */
    struct bytes accept;      /* the Accept header; empty: none */
    struct bytes authorization; /* the Authorization header; empty: none */
    size_t head_size;         /* includes the empty line after it, and any before it */
    size_t body_size;         /* that follows */
    bool keep_alive, expects_continue;
    struct bytes body;        /* set by http_connection.c when it is complete */
    struct http_peer peer;    /* set by http_connection.c */
    int connection_fd;        /* set by http_connection.c, borrowed */
    int fd;                   /* set by http_connection.c: a file received with it through a UNIX socket, borrowed; -1: none */
};

/* AGAIN: the head is incomplete. CORRUPT: refuse it with *status (400, 411, 413, 431, 505). */
enum err http_request_parse(struct bytes text, struct http_request *request, int *status);

/* Does Host name this machine: an address, a name without domain such as localhost, or its host name with any domain? A web
 * page whose domain resolves to this machine makes the browser of a user send requests to it, with that domain as Host.
 * Empty: true. */
bool http_request_is_for(struct bytes host, const char *host_name);

/* Does a comma-separated header value contain this item? Ignores case and parameters. */
bool http_request_has_item(struct bytes value, const char *word);

#endif
