/* Greeting, handshake and messages. */
#include "transport/zmtp.h"

#include "transport/zmtp_frame.h"

#include <stdlib.h>
#include <string.h>

static const char metadata[] = "\13Socket-Type\0\0\0\6ROUTER\10Identity\0\0\0";

bool zmtp_server_init(struct zmtp_server *server, size_t message_max)
{
    *server = (struct zmtp_server){ .message_max = message_max };
    buf_init(&server->plain, message_max + CURVE_MESSAGE_EXTRA);
    return sodium_init() >= 0;
}

void zmtp_server_clear(struct zmtp_server *server)
{
    buf_clear(&server->plain);
}

static const char *mechanism_of(const struct zmtp_server *server)
{
    return server->keys ? "CURVE" : "NULL";
}

void zmtp_init(struct zmtp *peer, const struct zmtp_server *server, struct buf *out)
{
    *peer = (struct zmtp){ .state = ZMTP_GREETING };
    buf_init(&peer->rest, server->message_max + CURVE_MESSAGE_EXTRA + (1u << 20));
    buf_init(&peer->parts, server->message_max);
    zmtp_frame_add_greeting(out, mechanism_of(server), server->keys != NULL);
}

static void end_handshake(struct zmtp *peer)
{
    if (peer->handshake)
        sodium_memzero(peer->handshake, sizeof *peer->handshake);
    free(peer->handshake);
    peer->handshake = NULL;
}

void zmtp_clear(struct zmtp *peer)
{
    end_handshake(peer);
    sodium_memzero(&peer->curve, sizeof peer->curve);
    buf_clear(&peer->rest);
    buf_clear(&peer->parts);
}

/* The error of ZAP (RFC 27): libzmq reports to its user that the key is not authorized. */
static enum err deny(struct buf *out)
{
    size_t start = zmtp_frame_begin_command(out);
    buf_add(out, "\5ERROR\003400", 10);
    zmtp_frame_end_command(out, start);
    return DENIED;
}

/* Socket types that a ROUTER may connect to. */
static bool is_compatible(struct bytes type)
{
    return bytes_equal(type, bytes_of("DEALER")) || bytes_equal(type, bytes_of("REQ")) || bytes_equal(type, bytes_of("ROUTER"));
}

/* Names are preceded by a size of one byte, values by one of four. */
static enum err read_metadata(struct bytes left)
{
    bool is_known = false;
    while (left.size) {
        size_t name = (uint8_t)left.data[0], value = 0;
        if (left.size < 1 + name + 4)
            return CORRUPT;
        for (size_t i = 0; i < 4; i++)
            value = value << 8 | (uint8_t)left.data[1 + name + i];
        size_t size = 1 + name + 4 + value;
        if (left.size < size)
            return CORRUPT;
        if (bytes_equal((struct bytes){ left.data + 1, name }, bytes_of("Socket-Type")))
            is_known = is_compatible((struct bytes){ left.data + size - value, value });
        left = (struct bytes){ left.data + size, left.size - size };
    }
    return is_known ? OK : CORRUPT;
}

static void add_ready(struct buf *out)
{
    size_t start = zmtp_frame_begin_command(out);
    buf_add(out, "\5READY", 6);
    buf_add(out, metadata, sizeof metadata);
    zmtp_frame_end_command(out, start);
}

static enum err read_greeting(struct zmtp_server *server, struct zmtp *peer, const char *greeting, struct buf *out)
{
    if (!zmtp_frame_fits_greeting(greeting, mechanism_of(server)))
        return CORRUPT;
    peer->state = server->keys ? ZMTP_HELLO : ZMTP_READY;
    if (server->keys) {
        peer->handshake = calloc(1, sizeof *peer->handshake);
        return peer->handshake ? OK : NOMEM;
    }
    if (!server->authorize(server->context, peer, NULL))
        return deny(out);
    add_ready(out);
    return OK;
}

static enum err read_hello(struct zmtp_server *server, struct zmtp *peer, struct bytes body, struct buf *out)
{
    size_t start = zmtp_frame_begin_command(out);
    enum err err = curve_read_hello(server->keys, &peer->curve, peer->handshake, body, out);
    zmtp_frame_end_command(out, start);
    peer->state = ZMTP_INITIATE;
    return err;
}

static enum err read_initiate(struct zmtp_server *server, struct zmtp *peer, struct bytes body, struct buf *out)
{
    uint8_t client[CURVE_KEY];
    struct bytes properties;
    enum err err = curve_read_initiate(server->keys, &peer->curve, peer->handshake, body, &server->plain, client, &properties);
    end_handshake(peer);
    if (!err)
        err = read_metadata(properties);
    if (err)
        return err;
    if (!server->authorize(server->context, peer, client))
        return deny(out);
    size_t start = zmtp_frame_begin_command(out);
    curve_add_ready(&peer->curve, (struct bytes){ metadata, sizeof metadata }, out);
    zmtp_frame_end_command(out, start);
    peer->state = ZMTP_OPEN;
    return OK;
}

static enum err read_ready(struct zmtp *peer, struct bytes body)
{
    if (body.size < 6 || memcmp(body.data, "\5READY", 6) != 0)
        return CORRUPT;
    peer->state = ZMTP_OPEN;
    return read_metadata((struct bytes){ body.data + 6, body.size - 6 });
}

/* Answers PING with its context; its timeout may be ignored. Other commands mean nothing to a ROUTER. */
static void read_command(const struct zmtp_server *server, struct zmtp *peer, struct bytes body, struct buf *out)
{
    char pong[5 + 16] = "\4PONG";
    if (body.size < 7 || body.size > 7 + 16 || memcmp(body.data, "\4PING", 5) != 0)
        return;
    size_t size = 5 + body.size - 7;
    memcpy(pong + 5, body.data + 7, body.size - 7);
    zmtp_frame_add_head(out, server->keys ? 0 : ZMTP_COMMAND, size + (server->keys ? CURVE_MESSAGE_EXTRA : 0));
    if (server->keys)
        curve_add_message(&peer->curve, CURVE_COMMAND, (struct bytes){ pong, size }, out);
    else
        buf_add(out, pong, size);
}

static enum err read_part(struct zmtp_server *server, struct zmtp *peer, struct bytes part, bool has_more)
{
    if (!has_more && !peer->parts.size)
        return server->take(server->context, peer, part);
    buf_add(&peer->parts, part.data, part.size);
    enum err err = buf_err(&peer->parts);
    if (err || has_more)
        return err;
    err = server->take(server->context, peer, (struct bytes){ peer->parts.data, peer->parts.size });
    buf_clear(&peer->parts);
    return err;
}

static enum err read_open(struct zmtp_server *server, struct zmtp *peer, unsigned flags, struct bytes body, struct buf *out)
{
    bool is_command = flags & ZMTP_COMMAND, has_more = flags & ZMTP_MORE;
    if (server->keys) {
        enum err err = curve_open_message(&peer->curve, body, &server->plain, &flags, &body);
        if (err)
            return err;
        is_command = flags & CURVE_COMMAND;
        has_more = flags & CURVE_MORE;
    }
    if (!is_command)
        return read_part(server, peer, body, has_more);
    read_command(server, peer, body, out);
    return OK;
}

static enum err read_frame(struct zmtp_server *server, struct zmtp *peer, unsigned flags, struct bytes body, struct buf *out)
{
    switch (peer->state) {
    case ZMTP_HELLO: return read_hello(server, peer, body, out);
    case ZMTP_INITIATE: return read_initiate(server, peer, body, out);
    case ZMTP_READY: return read_ready(peer, body);
    case ZMTP_OPEN: return read_open(server, peer, flags, body, out);
    default: return CORRUPT;
    }
}

static enum err read_next(struct zmtp_server *server, struct zmtp *peer, struct bytes *left, struct buf *out)
{
    size_t head = 0, size = ZMTP_GREETING_BYTES;
    bool is_greeting = peer->state == ZMTP_GREETING;
    if (is_greeting && left->size && (uint8_t)left->data[0] != 0xff)
        return CORRUPT;
    size_t max = peer->state == ZMTP_OPEN ? server->message_max + CURVE_MESSAGE_EXTRA : ZMTP_HANDSHAKE_MAX;
    enum err err = !is_greeting ? zmtp_frame_find(*left, max, &head, &size) : left->size < size ? AGAIN : OK;
    if (err)
        return err;
    const char *at = left->data;
    *left = (struct bytes){ at + head + size, left->size - head - size };
    if (is_greeting)
        return read_greeting(server, peer, at, out);
    return read_frame(server, peer, (uint8_t)at[0], (struct bytes){ at + head, size }, out);
}

/* Keeps an incomplete frame; frees the buffer if there is none. */
static enum err keep_rest(struct zmtp *peer, struct bytes left)
{
    if (!left.size)
        buf_clear(&peer->rest);
    else if (!peer->rest.size)
        buf_add(&peer->rest, left.data, left.size);
    else if (left.data != peer->rest.data) {
        memmove(peer->rest.data, left.data, left.size);
        peer->rest.size = left.size;
    }
    return buf_err(&peer->rest);
}

enum err zmtp_receive(struct zmtp_server *server, struct zmtp *peer, struct bytes bytes, struct buf *out)
{
    struct bytes left = bytes;
    enum err err = OK;
    if (peer->rest.size) {
        buf_add(&peer->rest, bytes.data, bytes.size);
        err = buf_err(&peer->rest);
        left = (struct bytes){ peer->rest.data, peer->rest.size };
    }
    while (!err && left.size)
        err = read_next(server, peer, &left, out);
    return err && err != AGAIN ? err : keep_rest(peer, left);
}

void zmtp_send(const struct zmtp_server *server, struct zmtp *peer, struct bytes message, struct buf *out)
{
    zmtp_frame_add_head(out, 0, message.size + (server->keys ? CURVE_MESSAGE_EXTRA : 0));
    if (server->keys)
        curve_add_message(&peer->curve, 0, message, out);
    else
        buf_add(out, message.data, message.size);
}
