/* Greeting, handshake and messages. */
#include "transport/zmtp_client.h"

#include "transport/zmtp_frame.h"

#include <string.h>

static const char metadata[] = "\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0";
static const struct bytes our_metadata = { metadata, sizeof metadata };

static const char *mechanism_of(const struct zmtp_client *client)
{
    return client->keys ? "CURVE" : "NULL";
}

void zmtp_client_init(struct zmtp_client *client, const struct curve_pair *keys, const uint8_t *server_key, size_t message_max,
                      struct buf *out)
{
    *client = (struct zmtp_client){ .keys = keys, .server_key = server_key, .message_max = message_max,
                                    .curve = { .is_client = true } };
    buf_init(&client->plain, message_max + CURVE_MESSAGE_EXTRA);
    zmtp_frame_add_greeting(out, mechanism_of(client), false);
}

void zmtp_client_clear(struct zmtp_client *client)
{
    buf_clear(&client->plain);
    sodium_memzero(&client->handshake, sizeof client->handshake);
    sodium_memzero(&client->curve, sizeof client->curve);
}

static enum err read_greeting(struct zmtp_client *client, const char *greeting, struct buf *out)
{
    if (!zmtp_frame_fits_greeting(greeting, mechanism_of(client)))
        return CORRUPT;
    size_t start = zmtp_frame_begin_command(out);
    if (client->keys) {
        client->state = ZMTP_CLIENT_WELCOME;
        if (!curve_add_hello(client->server_key, &client->curve, &client->handshake, out))
            return CORRUPT;
    } else {
        client->state = ZMTP_CLIENT_READY;
        buf_add(out, "\5READY", 6);
        buf_add(out, metadata, sizeof metadata);
    }
    zmtp_frame_end_command(out, start);
    return buf_err(out);
}

static enum err read_welcome(struct zmtp_client *client, struct bytes body, struct buf *out)
{
    if (curve_read_welcome(client->server_key, &client->handshake, body))
        return CORRUPT;
    client->state = ZMTP_CLIENT_READY;
    zmtp_frame_add_head(out, ZMTP_COMMAND, curve_initiate_size(our_metadata));
    bool is_added = curve_add_initiate(client->keys, client->server_key, &client->curve, &client->handshake, our_metadata, out);
    return is_added ? buf_err(out) : CORRUPT;
}

static enum err read_ready(struct zmtp_client *client, struct bytes body)
{
    if (client->keys ? curve_read_ready(&client->curve, body, &client->plain) != OK
                     : body.size < 6 || memcmp(body.data, "\5READY", 6) != 0)
        return CORRUPT;
    client->state = ZMTP_CLIENT_OPEN;
    sodium_memzero(&client->handshake, sizeof client->handshake);
    return OK;
}

static enum err read_handshake(struct zmtp_client *client, struct bytes body, struct buf *out)
{
    if (body.size >= 6 && memcmp(body.data, "\5ERROR", 6) == 0)
        return DENIED;
    return client->state == ZMTP_CLIENT_WELCOME ? read_welcome(client, body, out) : read_ready(client, body);
}

/* Commands of an open connection are ignored: a router sends PING only if it was asked to. */
static enum err read_part(struct zmtp_client *client, unsigned flags, struct bytes body, struct bytes *part, bool *is_last)
{
    bool is_command = flags & ZMTP_COMMAND, has_more = flags & ZMTP_MORE;
    if (client->keys) {
        enum err err = curve_open_message(&client->curve, body, &client->plain, &flags, &body);
        if (err)
            return err;
        is_command = flags & CURVE_COMMAND;
        has_more = flags & CURVE_MORE;
    }
    *is_last = !has_more;
    if (!is_command)
        *part = body;
    return OK;
}

enum err zmtp_client_read(struct zmtp_client *client, struct bytes *left, struct buf *out, struct bytes *part, bool *is_last)
{
    size_t head = 0, size = ZMTP_GREETING_BYTES;
    bool is_greeting = client->state == ZMTP_CLIENT_GREETING;
    *part = (struct bytes){ 0 };
    if (is_greeting && left->size && (uint8_t)left->data[0] != 0xff)
        return CORRUPT;
    size_t max = client->state == ZMTP_CLIENT_OPEN ? client->message_max + CURVE_MESSAGE_EXTRA : ZMTP_HANDSHAKE_MAX;
    enum err err = !is_greeting ? zmtp_frame_find(*left, max, &head, &size) : left->size < size ? AGAIN : OK;
    if (err)
        return err;
    const char *at = left->data;
    struct bytes body = { at + head, size };
    *left = (struct bytes){ at + head + size, left->size - head - size };
    if (is_greeting)
        return read_greeting(client, at, out);
    if (client->state != ZMTP_CLIENT_OPEN)
        return read_handshake(client, body, out);
    return read_part(client, (uint8_t)at[0], body, part, is_last);
}

void zmtp_client_send(struct zmtp_client *client, struct bytes message, struct buf *out)
{
    zmtp_frame_add_head(out, 0, message.size + (client->keys ? CURVE_MESSAGE_EXTRA : 0));
    if (client->keys)
        curve_add_message(&client->curve, 0, message, out);
    else
        buf_add(out, message.data, message.size);
}
