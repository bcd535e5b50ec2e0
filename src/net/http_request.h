/* The head of an HTTP/1.1 request: bytes from a socket come in, what is asked for goes to http.c. Takes any bytes. */
#ifndef SONDE_NET_HTTP_REQUEST_H
#define SONDE_NET_HTTP_REQUEST_H

#include "base/buf.h"

#define HTTP_HEAD_MAX 8192u
#define HTTP_BODY_MAX 65536u

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OTHER };

/* Who asks. */
struct http_peer {
    bool is_local; /* through a UNIX socket */
    bool is_here;  /* from this machine, through either: then the kernel says who it is */
    uint32_t uid;  /* UINT32_MAX: not known */
    uint32_t pid;  /* of who connected through a UNIX socket, as we see it; 0: not known, or in a namespace that we do not see */
};

/* Borrows from the bytes that it was read from. */
struct http_request {
    enum http_method method;
    struct bytes path, query; /* "/metrics", what stands behind '?' */
    struct bytes accept;      /* of the header of that name; empty: none */
    size_t head_size;         /* with the empty line behind it, and those before it */
    size_t body_size;         /* that follows */
    bool keep_alive, expects_continue;
    struct bytes body;        /* set by http.c, once it is there */
    struct http_peer peer;    /* set by http.c */
    int fd;                   /* set by http.c: an open file that came with it through a UNIX socket, borrowed; -1: none */
};

/* AGAIN: the head is not whole yet. CORRUPT: it is refused with *status (400, 411, 413, 431, 505). */
enum err http_request_parse(struct bytes text, struct http_request *request, int *status);

/* Does a comma-separated header value name word (letters in any case, parameters left aside)? */
bool http_request_lists(struct bytes value, const char *word);

#endif
