/* Dispatches messages and sends acknowledgements. A protocol violation costs a peer its connection. */
#include "collector/receiver.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/pack.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OUT_MAX 65536
#define PATH_BYTES 4096

static enum err open_files(struct receiver *receiver, struct buf *error)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/hosts", receiver->settings.dir);
    known_hosts_load(&receiver->known_hosts, path); /* missing file: no known hosts yet */
    snprintf(path, sizeof path, "%s/holes", receiver->settings.dir);
    enum err err = seq_gaps_open(&receiver->gaps, path);
    if (err)
        buf_printf(error, "cannot open %s: %s", path, err_text(err));
    return err;
}

enum err receiver_open(struct receiver *receiver, const struct receiver_settings *settings, struct buf *error)
{
    *receiver = (struct receiver){ .settings = *settings, .gaps.fd = -1 };
    batch_init(&receiver->batch);
    buf_init(&receiver->out, OUT_MAX);
    buf_init(&receiver->body, OUT_MAX);
    buf_init(&receiver->plain, MESSAGE_MAX);
    buf_init(&receiver->snapshot, MESSAGE_MAX);
    enum err err = open_files(receiver, error);
    if (err)
        receiver_close(receiver);
    return err;
}

void receiver_close(struct receiver *receiver)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/hosts", receiver->settings.dir);
    if (receiver->known_hosts.map.count)
        known_hosts_save(&receiver->known_hosts, path);
    peers_clear(&receiver->peers);
    known_hosts_clear(&receiver->known_hosts);
    seq_gaps_close(&receiver->gaps);
    batch_clear(&receiver->batch);
    buf_clear(&receiver->out);
    buf_clear(&receiver->body);
    buf_clear(&receiver->plain);
    buf_clear(&receiver->snapshot);
}

enum err receiver_send(struct receiver *receiver, const struct peer *peer, enum message_kind kind)
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
    vsnprintf(peer->error, sizeof peer->error, format, arguments);
    va_end(arguments);
    log_warn("refused %s%s%s: %s", peer->host[0] ? peer->host : "unknown peer", peer->address[0] ? " at " : "",
             peer->address,
             peer->error);
    buf_reset(&receiver->body);
    message_write_refuse(&receiver->body, &(struct message_refuse){ bytes_of(peer->error), for_good });
    receiver_send(receiver, peer, MESSAGE_REFUSE);
    peer_close_feeds(peer);
    peer->state = PEER_REFUSED;
    receiver->figures.refused++;
}

static void acknowledge(struct receiver *receiver, struct peer *peer, uint64_t number)
{
    uint8_t capacity[PACK_NUMBER_MAX];
    struct packer packer = { capacity, capacity + sizeof capacity, false };
    pack_number(&packer, number);
    buf_reset(&receiver->body);
    buf_add(&receiver->body, capacity, (size_t)(packer.at - capacity));
    if (receiver_send(receiver, peer, MESSAGE_ACK))
        return; /* the next acknowledgement covers it, or the peer reconnects */
    peer->acked = number;
    receiver->figures.acks++;
}

/* An unknown peer: it connected before our start, or was dropped as silent. */
static void send_again(struct receiver *receiver, const struct zmq_peer *from)
{
    struct peer stranger = { .id = (uint8_t *)from->id, .id_size = from->id_size };
    buf_reset(&receiver->body);
    receiver_send(receiver, &stranger, MESSAGE_AGAIN);
}

/* Sent once per connection; the message itself is skipped, so that the sender can continue. */
static void send_cannot(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    struct message_cannot cannot = {
        .kind = message->kind, .version = message->version, .number = message->number,
        .error = bytes_of("unknown message kind for sonde " SONDE_VERSION),
    };
    buf_reset(&receiver->body);
    message_write_cannot(&receiver->body, &cannot);
    receiver_send(receiver, peer, MESSAGE_CANNOT);
}

static void mark_dirty(struct receiver *receiver, struct peer *peer)
{
    receiver->is_dirty = true;
    if (peer->is_dirty)
        return;
    peer->is_dirty = true;
    peer->dirty_next = receiver->dirty;
    receiver->dirty = peer;
}

static void handle_kind(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_OPEN: receiver_handle_open(receiver, peer, message->body); break;
    case MESSAGE_STATE: receiver_handle_state(receiver, peer, message->body); break;
    case MESSAGE_RECORD: receiver_handle_record(receiver, peer, message); break;
    case MESSAGE_PING:
        if (!peer->is_dirty && !peer->is_syncing)
            acknowledge(receiver, peer, message->number);
        return;
    case MESSAGE_CANNOT: log_info("%s cannot decode a message of this collector", peer->host); return;
    default: send_cannot(receiver, peer, message);
    }
    if (peer->state == PEER_ACCEPTED)
        mark_dirty(receiver, peer);
}

static void handle_accepted(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    peer->last_received_ns = clock_monotonic_ns();
    if (peer->state == PEER_REFUSED)
        return;
    if (peer->known_host)
        peer->known_host->last_received_ns = clock_realtime_ns();
    if (message->number != peer->received + 1) {
        receiver_refuse(receiver, peer, false, "its message %llu came after number %llu",
                        (unsigned long long)message->number, (unsigned long long)peer->received);
        return;
    }
    peer->received = message->number;
    handle_kind(receiver, peer, message);
}

void receiver_handle_invalid(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer)
{
    receiver->figures.bad++;
    if (!peer && peers_add(&receiver->peers, from, &peer))
        return;
    peer->last_received_ns = clock_monotonic_ns();
    if (peer->state != PEER_REFUSED)
        receiver_refuse(receiver, peer, false, "it does not use Sonde's protocol, or its message was damaged");
}

void receiver_handle(struct receiver *receiver, const struct zmq_peer *from, struct bytes bytes)
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
        peer->last_received_ns = clock_monotonic_ns();
    else if (message_read(bytes, &message, &receiver->plain))
        receiver_handle_invalid(receiver, from, peer);
    else if (message.kind == MESSAGE_HELLO)
        receiver_handle_hello(receiver, from, peer, &message);
    else if (!peer)
        send_again(receiver, from);
    else
        handle_accepted(receiver, peer, &message);
}

bool receiver_begin_sync(struct receiver *receiver)
{
    if (!receiver->is_dirty || receiver->is_syncing || seq_gaps_sync(&receiver->gaps))
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

void receiver_end_sync(struct receiver *receiver, bool is_safe)
{
    struct peer *peer = receiver->syncing;
    receiver->syncing = NULL;
    receiver->is_syncing = false;
    while (peer) {
        struct peer *next = peer->sync_next;
        peer->is_syncing = false;
        if (is_safe && peer->state == PEER_ACCEPTED)
            acknowledge(receiver, peer, peer->syncing);
        else if (!is_safe)
            mark_dirty(receiver, peer);
        peer = next;
    }
}

void receiver_drop_silent(struct receiver *receiver)
{
    struct map_iterator at = { 0 };
    struct peer *peer;
    uint64_t now_ns = clock_monotonic_ns();
    while ((peer = peers_next(&receiver->peers, &at))) {
        if (now_ns - peer->last_received_ns < RECEIVER_PEER_GONE_NS || peer->is_dirty || peer->is_syncing)
            continue;
        if (peer->state == PEER_ACCEPTED)
            log_info("no message from %s for a minute; dropped its connection", peer->host);
        peers_remove(&receiver->peers, &peer);
    }
}
