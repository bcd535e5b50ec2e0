/* The client's side of CURVE (RFC 26), written from the specification: honest by default, and able to be wrong in one place. For
 * tests of our server; all command bodies, without frames. */
#ifndef SONDE_TESTS_TOOLS_CURVE_CLIENT_H
#define SONDE_TESTS_TOOLS_CURVE_CLIENT_H

#include "transport/curve.h"

#include <string.h>

#define CLIENT_HELLO 200
#define CLIENT_WELCOME 168
#define CLIENT_INITIATE(metadata_size) (113 + 16 + 128 + (metadata_size))
#define CLIENT_MESSAGE(size) (16 + 16 + 1 + (size))

struct curve_client {
    uint8_t server_key[CURVE_KEY];     /* known beforehand */
    struct curve_pair lasting, ours;   /* ours: of this connection */
    uint8_t server[CURVE_KEY];         /* the server's key of this connection, from WELCOME */
    uint8_t cookie[CURVE_COOKIE];
    uint8_t key[crypto_box_BEFORENMBYTES];
    uint64_t number; /* of the last box */
};

static inline void curve_client_init(struct curve_client *client, const uint8_t server_key[CURVE_KEY])
{
    *client = (struct curve_client){ 0 };
    memcpy(client->server_key, server_key, CURVE_KEY);
    crypto_box_keypair(client->lasting.public_key, client->lasting.secret_key);
    crypto_box_keypair(client->ours.public_key, client->ours.secret_key);
}

static inline void curve_client_nonce(uint8_t nonce[crypto_box_NONCEBYTES], const char *prefix, uint64_t number)
{
    memcpy(nonce, prefix, 16);
    for (int i = 23; i >= 16; i--, number >>= 8)
        nonce[i] = (uint8_t)number;
}

/* All return false only if a key is not on the curve. */
static inline bool curve_client_hello(struct curve_client *client, uint8_t hello[CLIENT_HELLO])
{
    static const uint8_t zeros[64];
    uint8_t nonce[crypto_box_NONCEBYTES];
    memset(hello, 0, CLIENT_HELLO);
    memcpy(hello, "\5HELLO\1", 7);
    memcpy(hello + 80, client->ours.public_key, CURVE_KEY);
    curve_client_nonce(nonce, "CurveZMQHELLO---", ++client->number);
    memcpy(hello + 112, nonce + 16, 8);
    return crypto_box_easy(hello + 120, zeros, sizeof zeros, nonce, client->server_key, client->ours.secret_key) == 0;
}

/* false: not a WELCOME for us. */
static inline bool curve_client_welcome(struct curve_client *client, const uint8_t welcome[CLIENT_WELCOME])
{
    uint8_t nonce[crypto_box_NONCEBYTES], plain[CURVE_KEY + CURVE_COOKIE];
    memcpy(nonce, "WELCOME-", 8);
    memcpy(nonce + 8, welcome + 8, 16);
    if (memcmp(welcome, "\7WELCOME", 8) != 0
        || crypto_box_open_easy(plain, welcome + 24, 144, nonce, client->server_key, client->ours.secret_key) != 0)
        return false;
    memcpy(client->server, plain, CURVE_KEY);
    memcpy(client->cookie, plain + CURVE_KEY, CURVE_COOKIE);
    return crypto_box_beforenm(client->key, client->server, client->ours.secret_key) == 0;
}

/* What INITIATE holds. NULL: the honest value. */
struct curve_claim {
    const struct curve_pair *voucher;  /* who vouches for the connection's key */
    const uint8_t *server_key;         /* the server that the vouch names */
    struct bytes metadata;
};

/* initiate has CLIENT_INITIATE(metadata.size) bytes; the metadata is at most 1024. */
static inline bool curve_client_initiate(struct curve_client *client, const struct curve_claim *claim, uint8_t *initiate)
{
    uint8_t nonce[crypto_box_NONCEBYTES] = "VOUCH---0123456789abcde", plain[CURVE_KEY + 96 + 1024], both[2 * CURVE_KEY];
    const struct curve_pair *voucher = claim->voucher ? claim->voucher : &client->lasting;
    memcpy(plain, client->lasting.public_key, CURVE_KEY);
    memcpy(plain + 32, nonce + 8, 16);
    memcpy(both, client->ours.public_key, CURVE_KEY);
    memcpy(both + 32, claim->server_key ? claim->server_key : client->server_key, CURVE_KEY);
    if (crypto_box_easy(plain + 48, both, sizeof both, nonce, client->server, voucher->secret_key) != 0)
        return false;
    if (claim->metadata.size)
        memcpy(plain + 128, claim->metadata.data, claim->metadata.size);
    memcpy(initiate, "\10INITIATE", 9);
    memcpy(initiate + 9, client->cookie, CURVE_COOKIE);
    curve_client_nonce(nonce, "CurveZMQINITIATE", ++client->number);
    memcpy(initiate + 105, nonce + 16, 8);
    return crypto_box_easy_afternm(initiate + 113, plain, 128 + claim->metadata.size, nonce, client->key) == 0;
}

/* message has CLIENT_MESSAGE(text.size) bytes; the text is at most 4096. */
static inline bool curve_client_message(struct curve_client *client, unsigned flags, struct bytes text, uint8_t *message)
{
    uint8_t nonce[crypto_box_NONCEBYTES], plain[1 + 4096];
    plain[0] = (uint8_t)flags;
    if (text.size)
        memcpy(plain + 1, text.data, text.size);
    memcpy(message, "\7MESSAGE", 8);
    curve_client_nonce(nonce, "CurveZMQMESSAGEC", ++client->number);
    memcpy(message + 8, nonce + 16, 8);
    return crypto_box_easy_afternm(message + 16, plain, 1 + text.size, nonce, client->key) == 0;
}

#endif
