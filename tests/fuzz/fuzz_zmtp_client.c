/* A collector as an agent sees it. The first byte selects whether there are keys, and the size of pieces. Without keys the
 * rest is what the server sends. With keys it is our own server that answers; bytes 1 to 3 flip one bit of its output, and
 * the rest follows once the connection is open. No connection opens with an altered WELCOME or READY. */
#include "fuzz/dir.h"
#include "transport/zmtp.h"
#include "transport/zmtp_client.h"

int fuzz_zmtp_client(const uint8_t *data, size_t size);

#define MESSAGE_MAX 4096

static bool authorize(void *context, struct zmtp *peer, const uint8_t *public_key)
{
    (void)context, (void)peer;
    return public_key != NULL;
}

static enum err take(void *context, struct zmtp *peer, struct bytes message)
{
    (void)context, (void)peer, (void)message;
    return OK;
}

/* Passes input to the client in pieces. */
static enum err pass(struct zmtp_client *client, struct bytes input, size_t piece, struct buf *rest, struct buf *out)
{
    enum err err = OK;
    for (size_t at = 0; at < input.size && (!err || err == AGAIN); at += piece) {
        buf_add(rest, input.data + at, input.size - at < piece ? input.size - at : piece);
        struct bytes left = { rest->data, rest->size }, part;
        bool is_last = false;
        while (left.size && !(err = zmtp_client_read(client, &left, out, &part, &is_last)))
            fuzz_require(!part.data || (client->state == ZMTP_CLIENT_OPEN && part.size <= MESSAGE_MAX));
        memmove(rest->data, left.data, left.size);
        rest->size = left.size;
    }
    return err == AGAIN ? OK : err;
}

/* The handshake with our own server, one bit of whose output is flipped. */
static enum err shake_hands(struct zmtp_client *client, struct zmtp_server *server, size_t flip, struct buf *rest,
                            struct buf *out)
{
    struct zmtp peer;
    struct buf answer;
    size_t sent = 0;
    enum err err = OK;
    buf_init(&answer, 1 << 16);
    zmtp_init(&peer, server, &answer);
    while (!err && answer.size) {
        for (size_t i = 0; i < answer.size; i++, sent++)
            if (sent == flip / 8)
                answer.data[i] ^= (char)(1 << flip % 8);
        err = pass(client, (struct bytes){ answer.data, answer.size }, answer.size, rest, out);
        buf_reset(&answer);
        if (!err)
            err = zmtp_receive(server, &peer, (struct bytes){ out->data, out->size }, &answer);
        buf_reset(out);
    }
    zmtp_clear(&peer);
    buf_clear(&answer);
    return err;
}

/* The server sends a greeting of 64 bytes, WELCOME (168) and READY (75), the latter two with heads of 2 bytes. */
static bool is_authenticated(size_t at)
{
    return (at >= 66 && at < 66 + 168) || (at >= 236 && at < 236 + 75);
}

int fuzz_zmtp_client(const uint8_t *data, size_t size)
{
    struct curve_pair ours, theirs;
    struct zmtp_server server;
    struct zmtp_client client;
    struct buf out, rest;
    enum err err = OK;
    if (size < 4 || !zmtp_server_init(&server, MESSAGE_MAX))
        return 0;
    bool has_keys = data[0] & 128;
    crypto_box_keypair(ours.public_key, ours.secret_key);
    crypto_box_keypair(theirs.public_key, theirs.secret_key);
    server.keys = &theirs;
    server.authorize = authorize;
    server.take = take;
    buf_init(&out, 1 << 20);
    buf_init(&rest, 1 << 20);
    zmtp_client_init(&client, has_keys ? &ours : NULL, theirs.public_key, MESSAGE_MAX, &out);
    size_t flip = (size_t)data[1] | (size_t)data[2] << 8 | (size_t)data[3] << 16;
    if (has_keys)
        err = shake_hands(&client, &server, flip, &rest, &out);
    fuzz_require(!has_keys || !is_authenticated(flip / 8) || err || client.state != ZMTP_CLIENT_OPEN);
    if (!err)
        pass(&client, (struct bytes){ (const char *)data + 4, size - 4 }, (data[0] & 127u) + 1, &rest, &out);
    zmtp_client_clear(&client);
    zmtp_server_clear(&server);
    buf_clear(&out);
    buf_clear(&rest);
    return 0;
}
