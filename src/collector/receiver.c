/* Which message goes where, and the acknowledgements. What a peer may not say, or not yet, costs it its connection. */
#include "collector/receiver.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/pack.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OUT_MAX 65536
#define PATH_ROOM 4096

static enum err open_files(struct receiver *receiver, struct buf *why)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/hosts", receiver->settings.dir);
    origins_load(&receiver->origins, path); /* none: nobody was heard yet */
    snprintf(path, sizeof path, "%s/holes", receiver->settings.dir);
    enum err err = holes_open(&receiver->holes, path);
    if (err)
        buf_printf(why, "cannot open %s: %s", path, err_text(err));
    return err;
}

enum err receiver_open(struct receiver *receiver, const struct receiver_settings *settings, struct buf *why)
{
    *receiver = (struct receiver){ .settings = *settings, .holes.fd = -1 };
    batch_init(&receiver->batch);
    buf_init(&receiver->out, OUT_MAX);
    buf_init(&receiver->body, OUT_MAX);
    buf_init(&receiver->plain, MESSAGE_MAX);
    buf_init(&receiver->snapshot, MESSAGE_MAX);
    enum err err = peers_init(&receiver->peers);
    if (!err)
        err = origins_init(&receiver->origins);
    if (!err)
        err = open_files(receiver, why);
    if (err)
        receiver_close(receiver);
    return err;
}

void receiver_close(struct receiver *receiver)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/hosts", receiver->settings.dir);
    if (receiver->origins.count)
        origins_save(&receiver->origins, path);
    peers_clear(&receiver->peers);
    origins_clear(&receiver->origins);
    holes_close(&receiver->holes);
    batch_clear(&receiver->batch);
    buf_clear(&receiver->out);
    buf_clear(&receiver->body);
    buf_clear(&receiver->plain);
    buf_clear(&receiver->snapshot);
}

enum err receiver_answer(struct receiver *receiver, const struct peer *peer, enum message_kind kind)
{
    struct message message = {
        .version = MESSAGE_VERSION, .kind = kind, .body = { receiver->body.data, receiver->body.size },
    };
    buf_reset(&receiver->out);
    message_write(&receiver->out, &message, false);
    buf_reset(&receiver->body);
    peer_address(peer, &receiver->to);
    return receiver->settings.send(receiver->settings.context, &receiver->to,
                                   (struct bytes){ receiver->out.data, receiver->out.size });
}

void receiver_refuse(struct receiver *receiver, struct peer *peer, bool for_good, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(peer->why, sizeof peer->why, format, arguments);
    va_end(arguments);
    log_warn("%s%s%s is refused: %s", peer->host[0] ? peer->host : "somebody", peer->address[0] ? " at " : "", peer->address,
             peer->why);
    buf_reset(&receiver->body);
    message_write_refuse(&receiver->body, &(struct message_refuse){ bytes_of(peer->why), for_good });
    receiver_answer(receiver, peer, MESSAGE_REFUSE);
    peer_close_feeds(peer);
    peer->state = PEER_REFUSED;
    receiver->figures.refused++;
}

static void acknowledge(struct receiver *receiver, struct peer *peer, uint64_t number)
{
    uint8_t room[PACK_NUMBER_MAX];
    struct packer packer = { room, room + sizeof room, false };
    pack_number(&packer, number);
    buf_reset(&receiver->body);
    buf_add(&receiver->body, room, (size_t)(packer.at - room));
    if (receiver_answer(receiver, peer, MESSAGE_ACK))
        return; /* it will hear of it with the next one, or come back */
    peer->acked = number;
    receiver->figures.acks++;
}

/* We do not know it: it was here before our start, or was dropped as silent. */
static void say_again(struct receiver *receiver, const struct zmq_peer *from)
{
    struct peer stranger = { .id = (uint8_t *)from->id, .id_size = from->id_size };
    buf_reset(&receiver->body);
    receiver_answer(receiver, &stranger, MESSAGE_AGAIN);
}

/* Said once per connection; the message itself is passed over, so that its sender can go on. */
static void say_cannot(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    struct message_cannot cannot = {
        .kind = message->kind, .version = message->version, .number = message->number,
        .why = bytes_of("this is sonde " SONDE_VERSION ", which does not know such messages"),
    };
    buf_reset(&receiver->body);
    message_write_cannot(&receiver->body, &cannot);
    receiver_answer(receiver, peer, MESSAGE_CANNOT);
}

static void wants_ack(struct receiver *receiver, struct peer *peer)
{
    receiver->is_dirty = true;
    if (peer->is_dirty)
        return;
    peer->is_dirty = true;
    peer->dirty_next = receiver->dirty;
    receiver->dirty = peer;
}

static void take_kind(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_OPEN: receiver_take_open(receiver, peer, message->body); break;
    case MESSAGE_STATE: receiver_take_state(receiver, peer, message->body); break;
    case MESSAGE_RECORD: receiver_take_record(receiver, peer, message); break;
    case MESSAGE_PING:
        if (!peer->is_dirty && !peer->is_syncing)
            acknowledge(receiver, peer, message->number);
        return;
    case MESSAGE_CANNOT: log_info("%s cannot read something that this collector says", peer->host); return;
    default: say_cannot(receiver, peer, message);
    }
    if (peer->state == PEER_TAKEN)
        wants_ack(receiver, peer);
}

static void take_of_known(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    peer->heard_ns = clock_monotonic_ns();
    if (peer->state == PEER_REFUSED)
        return;
    if (peer->origin)
        peer->origin->heard_ns = clock_realtime_ns();
    if (message->number != peer->received + 1) {
        receiver_refuse(receiver, peer, false, "its message %llu came behind number %llu",
                        (unsigned long long)message->number, (unsigned long long)peer->received);
        return;
    }
    peer->received = message->number;
    take_kind(receiver, peer, message);
}

void receiver_take_bad(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer)
{
    receiver->figures.bad++;
    if (!peer && peers_add(&receiver->peers, from, &peer))
        return;
    peer->heard_ns = clock_monotonic_ns();
    if (peer->state != PEER_REFUSED)
        receiver_refuse(receiver, peer, false, "it does not speak Sonde's language, or its message was damaged");
}

void receiver_take(struct receiver *receiver, const struct zmq_peer *from, struct bytes bytes)
{
    struct message message;
    struct peer *peer = peers_find(&receiver->peers, from);
    receiver->figures.messages++;
    receiver->figures.bytes += bytes.size;
    if (peer) {
        peer->messages++;
        peer->bytes += bytes.size;
    }
    if (peer && peer->state == PEER_REFUSED)
        peer->heard_ns = clock_monotonic_ns();
    else if (message_read(bytes, &message, &receiver->plain))
        receiver_take_bad(receiver, from, peer);
    else if (message.kind == MESSAGE_HELLO)
        receiver_take_hello(receiver, from, peer, &message);
    else if (!peer)
        say_again(receiver, from);
    else
        take_of_known(receiver, peer, &message);
}

bool receiver_commit(struct receiver *receiver)
{
    if (!receiver->is_dirty || receiver->is_syncing || holes_sync(&receiver->holes))
        return false;
    for (struct peer *peer = receiver->dirty; peer; peer = peer->dirty_next) {
        peer->is_dirty = false;
        peer->is_syncing = true;
        peer->syncing = peer->received;
        peer->sync_next = receiver->syncing;
        receiver->syncing = peer;
    }
    receiver->dirty = NULL;
    receiver->is_dirty = false;
    receiver->is_syncing = true;
    return true;
}

void receiver_committed(struct receiver *receiver, bool is_safe)
{
    struct peer *peer = receiver->syncing;
    receiver->syncing = NULL;
    receiver->is_syncing = false;
    while (peer) {
        struct peer *next = peer->sync_next;
        peer->is_syncing = false;
        if (is_safe && peer->state == PEER_TAKEN)
            acknowledge(receiver, peer, peer->syncing);
        else if (!is_safe)
            wants_ack(receiver, peer);
        peer = next;
    }
}

void receiver_tend(struct receiver *receiver)
{
    struct peer_at at = { 0 };
    struct peer *peer;
    uint64_t now_ns = clock_monotonic_ns();
    while ((peer = peers_next(&receiver->peers, &at))) {
        if (now_ns - peer->heard_ns < RECEIVER_PEER_GONE_NS || peer->is_dirty || peer->is_syncing)
            continue;
        if (peer->state == PEER_TAKEN)
            log_info("%s has been silent for a minute", peer->host);
        peers_remove(&receiver->peers, &peer);
    }
}
