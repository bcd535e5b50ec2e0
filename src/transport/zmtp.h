/* ZMTP 3.1 (RFC 37), the end of a ROUTER that others connect to: bytes of a peer in, its messages and our answers out, with
 * CURVE when there is a key. Knows no socket. Not libzmq's, because that holds 64 kB of queues for each connection and this
 * holds what has not come whole yet. */
#ifndef SONDE_TRANSPORT_ZMTP_H
#define SONDE_TRANSPORT_ZMTP_H

#include "base/buf.h"
#include "transport/zmtp_curve.h"

#include <stdbool.h>

enum zmtp_state {
    ZMTP_GREETING,  /* which of them is awaited */
    ZMTP_HELLO,     /* of CURVE */
    ZMTP_INITIATE,  /* of CURVE */
    ZMTP_READY,     /* without keys */
    ZMTP_OPEN,
};

struct zmtp {
    enum zmtp_state state;
    struct curve_handshake *handshake; /* NULL once it is over */
    struct curve curve;
    struct buf rest;  /* of a frame that has not come whole */
    struct buf parts; /* of a message whose last part has not come */
};

/* What all connections of a router have in common. One thread. */
struct zmtp_server {
    const struct curve_pair *keys; /* NULL: not encrypted */
    size_t message_max;
    struct buf plain;              /* for work */
    bool (*allows)(void *context, struct zmtp *peer, const uint8_t *public_key); /* NULL: it has no key */
    enum err (*take)(void *context, struct zmtp *peer, struct bytes message);
    void *context;
};

/* false: libsodium does not work on this machine. */
bool zmtp_server_init(struct zmtp_server *server, size_t message_max);
void zmtp_server_clear(struct zmtp_server *server);

/* A connection begins: what is to be sent first is added to out. */
void zmtp_init(struct zmtp *peer, const struct zmtp_server *server, struct buf *out);
void zmtp_clear(struct zmtp *peer);

/* Bytes came. Messages are handed over, answers added to out. CORRUPT, FULL, NOMEM: close it. DENIED: close it when it has got
 * what is in out. */
enum err zmtp_take(struct zmtp_server *server, struct zmtp *peer, struct bytes bytes, struct buf *out);

/* Adds a message for a peer that is open. */
void zmtp_add(const struct zmtp_server *server, struct zmtp *peer, struct bytes message, struct buf *out);

#endif
