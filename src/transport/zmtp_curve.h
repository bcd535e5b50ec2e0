/* CURVE (RFC 26), the end of a server: which commands open a connection, and the boxes in which messages travel. Knows no
 * frames and no sockets: bodies of commands in, bodies of commands out. The cryptography is libsodium's. */
#ifndef SONDE_TRANSPORT_ZMTP_CURVE_H
#define SONDE_TRANSPORT_ZMTP_CURVE_H

#include "base/buf.h"

#include <sodium.h>

#define CURVE_KEY crypto_box_PUBLICKEYBYTES
#define CURVE_COOKIE 96
#define CURVE_MESSAGE_EXTRA (16 + crypto_box_MACBYTES + 1) /* what a message takes beside its own bytes */

enum curve_flag { CURVE_MORE = 1, CURVE_COMMAND = 2 };

struct curve_pair {
    uint8_t public_key[CURVE_KEY], secret_key[CURVE_KEY];
};

/* Until the connection is open. */
struct curve_handshake {
    struct curve_pair ours;    /* of this connection */
    uint8_t client[CURVE_KEY]; /* the client's, of this connection */
    uint8_t cookie[CURVE_COOKIE];
};

/* An open connection: the key of both ends, and the numbers of the last boxes, which only rise. */
struct curve {
    uint8_t key[crypto_box_BEFORENMBYTES];
    uint64_t sent, heard;
};

/* HELLO is answered with WELCOME, added to out. CORRUPT: it was not made for our key. */
enum err curve_take_hello(const struct curve_pair *server, struct curve *curve, struct curve_handshake *handshake,
                          struct bytes hello, struct buf *out);

/* INITIATE: who it is, proved, and the metadata, borrowed from plain. CORRUPT: it does not hold the key that it shows. */
enum err curve_take_initiate(const struct curve_pair *server, struct curve *curve, const struct curve_handshake *handshake,
                             struct bytes initiate, struct buf *plain, uint8_t client[CURVE_KEY], struct bytes *metadata);

/* Adds READY with our metadata. */
void curve_add_ready(struct curve *curve, struct bytes metadata, struct buf *out);

/* Adds a MESSAGE. */
void curve_add_message(struct curve *curve, unsigned flags, struct bytes message, struct buf *out);

/* Opens one; borrowed from plain. CORRUPT: damaged, made by another, or played again. */
enum err curve_open_message(struct curve *curve, struct bytes body, struct buf *plain, unsigned *flags, struct bytes *message);

#endif
