/* CURVE (RFC 26): the commands of the handshake and the encryption of messages, for both sides. Knows no frames and no sockets:
 * command bodies in, command bodies out. The cryptography is libsodium's. */
#ifndef SONDE_TRANSPORT_CURVE_H
#define SONDE_TRANSPORT_CURVE_H

#include "base/buf.h"

#include <sodium.h>

#define CURVE_KEY crypto_box_PUBLICKEYBYTES
#define CURVE_COOKIE 96
#define CURVE_MESSAGE_EXTRA (16 + crypto_box_MACBYTES + 1) /* overhead of a message */

enum curve_flag { CURVE_MORE = 1, CURVE_COMMAND = 2 };

struct curve_pair {
    uint8_t public_key[CURVE_KEY], secret_key[CURVE_KEY];
};

/* Needed only until the connection is open. */
struct curve_handshake {
    struct curve_pair ours;    /* transient key pair of this connection */
    uint8_t theirs[CURVE_KEY]; /* the other side's transient key */
    uint8_t cookie[CURVE_COOKIE];
};

/* An open connection: the shared key, and the numbers of the last boxes, which only increase. */
struct curve {
    uint8_t key[crypto_box_BEFORENMBYTES];
    uint64_t sent, received;
    bool is_client;
};

/* The server. Checks HELLO and appends WELCOME to out. CORRUPT: not made for our key. */
enum err curve_read_hello(const struct curve_pair *server, struct curve *curve, struct curve_handshake *handshake,
                          struct bytes hello, struct buf *out);

/* Checks INITIATE: returns the client's key, proved, and the metadata, borrowed from plain. CORRUPT: the client does
 * not hold the key it shows. */
enum err curve_read_initiate(const struct curve_pair *server, struct curve *curve, const struct curve_handshake *handshake,
                             struct bytes initiate, struct buf *plain, uint8_t client[CURVE_KEY], struct bytes *metadata);

/* Appends READY with our metadata. */
void curve_add_ready(struct curve *curve, struct bytes metadata, struct buf *out);

/* The client. Appends HELLO. false: server_key is not a key. */
bool curve_add_hello(const uint8_t server_key[CURVE_KEY], struct curve *curve, struct curve_handshake *handshake,
                     struct buf *out);

/* CORRUPT: not from the holder of server_key, or not for us. */
enum err curve_read_welcome(const uint8_t server_key[CURVE_KEY], struct curve_handshake *handshake, struct bytes welcome);

/* Appends INITIATE, of curve_initiate_size bytes; the metadata is at most 128 bytes. false: a key is not valid. */
size_t curve_initiate_size(struct bytes metadata);
bool curve_add_initiate(const struct curve_pair *client, const uint8_t server_key[CURVE_KEY], struct curve *curve,
                        const struct curve_handshake *handshake, struct bytes metadata, struct buf *out);

/* Its metadata is ignored. */
enum err curve_read_ready(struct curve *curve, struct bytes ready, struct buf *plain);

/* Appends a MESSAGE. */
void curve_add_message(struct curve *curve, unsigned flags, struct bytes message, struct buf *out);

/* Decrypts a message; borrowed from plain. CORRUPT: damaged, forged or replayed. */
enum err curve_open_message(struct curve *curve, struct bytes body, struct buf *plain, unsigned *flags, struct bytes *message);

#endif
