/* The client side of ZMTP 3.1 (RFC 37) for a DEALER: takes the server's bytes, produces its messages and our answers, with CURVE
 * if there are keys. Does no I/O. */
#ifndef SONDE_TRANSPORT_ZMTP_CLIENT_H
#define SONDE_TRANSPORT_ZMTP_CLIENT_H

#include "transport/curve.h"

enum zmtp_client_state {
    ZMTP_CLIENT_GREETING, /* the expected input */
    ZMTP_CLIENT_WELCOME,  /* CURVE */
    ZMTP_CLIENT_READY,
    ZMTP_CLIENT_OPEN,
};

/* keys and server_key are borrowed until the connection is open. */
struct zmtp_client {
    enum zmtp_client_state state;
    const struct curve_pair *keys; /* NULL: no encryption */
    const uint8_t *server_key;
    size_t message_max;
    struct curve_handshake handshake;
    struct curve curve;
    struct buf plain; /* scratch */
};

/* Starts a connection: appends the greeting to out. */
void zmtp_client_init(struct zmtp_client *client, const struct curve_pair *keys, const uint8_t *server_key, size_t message_max,
                      struct buf *out);
void zmtp_client_clear(struct zmtp_client *client);

/* Reads one frame from the start of left and advances it; answers are appended to out. OK: part is a part of a message,
 * and *is_last tells whether it is the last one; part.data is NULL if the frame was none. AGAIN: incomplete. CORRUPT: not
 * this protocol, or not the expected key. DENIED: the server refuses our key. */
enum err zmtp_client_read(struct zmtp_client *client, struct bytes *left, struct buf *out, struct bytes *part, bool *is_last);

/* Appends a message; the connection is open. */
void zmtp_client_send(struct zmtp_client *client, struct bytes message, struct buf *out);

#endif
