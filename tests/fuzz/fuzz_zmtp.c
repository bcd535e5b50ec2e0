/* Input of a router's peer in pieces; the first byte selects their size and whether there are keys. It is accepted or
 * refused, and no message is delivered before the handshake. */
#include "transport/zmtp.h"

#include <stdlib.h>

int fuzz_zmtp(const uint8_t *data, size_t size);

static const struct curve_pair pair = { { 1 }, { 2 } };

static bool authorize(void *context, struct zmtp *peer, const uint8_t *public_key)
{
    (void)context, (void)peer, (void)public_key;
    return true;
}

static enum err take(void *context, struct zmtp *peer, struct bytes message)
{
    (void)context;
    if (peer->state != ZMTP_OPEN || message.size > 4096)
        abort();
    return OK;
}

int fuzz_zmtp(const uint8_t *data, size_t size)
{
    struct zmtp_server server;
    struct zmtp peer;
    struct buf out;
    enum err err = OK;
    if (!size || !zmtp_server_init(&server, 4096))
        return 0;
    size_t piece = (data[0] & 127u) + 1;
    server.keys = data[0] & 128 ? &pair : NULL;
    server.authorize = authorize;
    server.take = take;
    buf_init(&out, 1 << 20);
    zmtp_init(&peer, &server, &out);
    for (size_t at = 1; at < size && !err; at += piece)
        err = zmtp_receive(&server, &peer, (struct bytes){ (const char *)data + at, size - at < piece ? size - at : piece },
                           &out);
    zmtp_clear(&peer);
    zmtp_server_clear(&server);
    buf_clear(&out);
    return 0;
}
