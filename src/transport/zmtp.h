/* The server side of ZMTP 3.1 (RFC 37) for a ROUTER: takes a peer's bytes, produces its messages and our answers, with
 * CURVE if there is a key. Does no I/O. libzmq is not used because it needs 64 kB of queues per connection; this needs
 * only the incomplete frame. */
#ifndef SONDE_TRANSPORT_ZMTP_H
#define SONDE_TRANSPORT_ZMTP_H

#include "base/buf.h"
#include "transport/curve.h"

#include <stdbool.h>

enum zmtp_state {
    ZMTP_GREETING,  /* the expected input */
    ZMTP_HELLO,     /* CURVE */
    ZMTP_INITIATE,  /* CURVE */
    ZMTP_READY,     /* without keys */
    ZMTP_OPEN,
};

struct zmtp {
    enum zmtp_state state;
    struct curve_handshake *handshake; /* NULL once it is complete */
    struct curve curve;
    struct buf rest;  /* an incomplete frame */
    struct buf parts; /* an incomplete multipart message */
};

/* Shared by all connections of a router. One thread. */
struct zmtp_server {
    const struct curve_pair *keys; /* NULL: no encryption */
    size_t message_max;
    struct buf plain;                                                               /* scratch */
    bool (*authorize)(void *context, struct zmtp *peer, const uint8_t *public_key); /* public_key NULL: none */
    enum err (*take)(void *context, struct zmtp *peer, struct bytes message);
    void *context;
};

/* false: libsodium does not work on this node. */
bool zmtp_server_init(struct zmtp_server *server, size_t message_max);
void zmtp_server_clear(struct zmtp_server *server);

/* Starts a connection: appends the greeting to out. */
void zmtp_init(struct zmtp *peer, const struct zmtp_server *server, struct buf *out);
void zmtp_clear(struct zmtp *peer);

/* Processes received bytes: passes messages to take and appends answers to out. CORRUPT, FULL, NOMEM: close the
 * connection. DENIED: close it after out is written. */
enum err zmtp_receive(struct zmtp_server *server, struct zmtp *peer, struct bytes bytes, struct buf *out);

/* Appends a message for an open connection. */
void zmtp_send(const struct zmtp_server *server, struct zmtp *peer, struct bytes message, struct buf *out);

#endif
