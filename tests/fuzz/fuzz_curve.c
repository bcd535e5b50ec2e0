/* A client that holds keys, and deviates from the protocol as the input directs (curve_script.h), so that the fuzzer reaches
 * every state of our server. Whatever the client does: only what it sealed is delivered, in its order, and nothing twice. */
#include "tools/curve_script.h"
#include "transport/zmtp.h"

#include <stdlib.h>

int fuzz_curve(const uint8_t *data, size_t size);

struct connection {
    struct zmtp_server server;
    struct zmtp peer;
    struct buf delivered;
    size_t piece;
};

static bool authorize(void *context, struct zmtp *peer, const uint8_t *public_key)
{
    (void)context, (void)peer;
    if (!public_key)
        abort();
    return true;
}

static enum err take(void *context, struct zmtp *peer, struct bytes message)
{
    struct connection *connection = context;
    if (peer->state != ZMTP_OPEN)
        abort();
    buf_add(&connection->delivered, message.data, message.size);
    buf_add_char(&connection->delivered, '\n');
    return OK;
}

static bool exchange(void *context, struct bytes out, struct buf *in)
{
    struct connection *connection = context;
    enum err err = OK;
    for (size_t at = 0; at < out.size && !err; at += connection->piece) {
        size_t size = out.size - at < connection->piece ? out.size - at : connection->piece;
        err = zmtp_receive(&connection->server, &connection->peer, (struct bytes){ out.data + at, size }, in);
    }
    return err == OK;
}

/* A part of a message whose last part never came is sealed but not delivered. A step that goes back in numbers seals something
 * that must be refused, so what was delivered is a prefix. */
static void check(const struct buf *delivered, const struct buf *sealed)
{
    if (delivered->size > sealed->size || (delivered->size && memcmp(delivered->data, sealed->data, delivered->size) != 0))
        abort();
}

int fuzz_curve(const uint8_t *data, size_t size)
{
    struct connection connection = { .piece = size ? (data[0] & 127u) + 1 : 1 };
    struct curve_pair pair;
    struct curve_script script;
    struct buf greeting;
    if (!size || !zmtp_server_init(&connection.server, 4096))
        return 0;
    crypto_box_keypair(pair.public_key, pair.secret_key);
    connection.server.keys = &pair;
    connection.server.authorize = authorize;
    connection.server.take = take;
    connection.server.context = &connection;
    buf_init(&connection.delivered, 1 << 20);
    buf_init(&greeting, 64);
    zmtp_init(&connection.peer, &connection.server, &greeting);
    script_init(&script, pair.public_key, (struct curve_server_side){ exchange, &connection });
    script_run(&script, (struct bytes){ (const char *)data + 1, size - 1 });
    check(&connection.delivered, &script.sealed);
    script_clear(&script);
    zmtp_clear(&connection.peer);
    zmtp_server_clear(&connection.server);
    buf_clear(&connection.delivered);
    buf_clear(&greeting);
    return 0;
}
