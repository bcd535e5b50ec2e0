/* HELLO and OPEN: which peers are accepted, and for which hosts they may send. */
#include "collector/receiver.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "transport/munge.h"

#include <stdlib.h>
#include <string.h>

#define ERROR_MAX 512

static bool replace(char **text, struct bytes value)
{
    char *copy = strndup(value.data ? value.data : "", value.size);
    if (!copy)
        return false;
    free(*text);
    *text = copy;
    return true;
}

/* False: it was refused. */
static bool is_allowed(struct receiver *receiver, struct peer *peer, const struct message_hello *hello)
{
    struct buf error;
    if (hello->version_min > MESSAGE_VERSION || hello->version_max < 1) {
        receiver_refuse(receiver, peer, true,
                        "it requires protocol version %llu (%.*s), but this collector supports at most %d (sonde " SONDE_VERSION
                        "). Update the collector first",
                        (unsigned long long)hello->version_min, (int)hello->software.size, hello->software.data,
                        MESSAGE_VERSION);
        return false;
    }
    if (peer->name[0] && strcmp(peer->name, peer->host) != 0) {
        receiver_refuse(receiver, peer, true, "its key belongs to %s, but its host name is %s", peer->name, peer->host);
        return false;
    }
    if (!receiver->settings.munge)
        return true;
    buf_init(&error, ERROR_MAX);
    enum err err = hello->credential.size ? munge_check(hello->credential, peer->host, &error) : DENIED;
    if (err)
        receiver_refuse(receiver, peer, false, "%s",
                        error.size ? buf_text(&error)
                            : "it sent no MUNGE credential, which this collector requires (--munge)");
    buf_clear(&error);
    return !err;
}

/* A broken connection may still be known: sending a message shows it. */
static bool is_alive(struct receiver *receiver, const struct peer *peer)
{
    if (peer->state != PEER_ACCEPTED || clock_monotonic_ns() - peer->last_received_ns > RECEIVER_PEER_SILENT_NS)
        return false;
    buf_reset(&receiver->body);
    buf_add_char(&receiver->body, 0); /* acknowledges nothing */
    return receiver_send(receiver, peer, MESSAGE_ACK) != GONE;
}

/* False: another peer with this name is connected, and the new one was refused. The same instance that reconnects
 * replaces its old connection. */
static bool is_only_peer(struct receiver *receiver, struct peer *peer)
{
    struct peer *other = peer->known_host->connections[peer->is_collector];
    if (!other || other == peer)
        return true;
    if (other->instance != peer->instance && is_alive(receiver, other)) {
        const char *kind = peer->is_collector ? "collector" : "agent";
        receiver_refuse(receiver, peer, false,
                        "another %s with the host name %s is connected%s%s since %s. Stop one of them, or rename "
                        "it", kind, peer->host, other->address[0] ? " from " : "", other->address,
                        format_time(other->since_ns).s);
        return false;
    }
    peer_close_feeds(other);
    other->state = PEER_REFUSED;
    return true;
}

static void welcome(struct receiver *receiver, struct peer *peer, const struct message_hello *hello)
{
    struct message_welcome answer = {
        .host = bytes_of(receiver->settings.host), .software = bytes_of("sonde " SONDE_VERSION),
        .version = hello->version_max < MESSAGE_VERSION ? hello->version_max : MESSAGE_VERSION,
        .window_bytes = peer->is_collector ? RECEIVER_WINDOW_COLLECTOR_BYTES : RECEIVER_WINDOW_BYTES,
    };
    buf_reset(&receiver->body);
    message_write_welcome(&receiver->body, &answer);
    receiver_send(receiver, peer, MESSAGE_WELCOME);
}

static void update_known_host(struct peer *peer, const struct message_hello *hello)
{
    struct known_host *known_host = peer->known_host;
    uint64_t now_ns = clock_realtime_ns();
    known_host->connections[peer->is_collector] = peer;
    known_host->last_received_ns = peer->since_ns = now_ns;
    if (!known_host->first_ns)
        known_host->first_ns = now_ns;
    if (!hello->time_ns)
        return;
    known_host->clock_ahead_ns = (int64_t)(hello->time_ns - now_ns);
    known_host->has_clock_ahead = true;
    uint64_t off_ns = known_host->clock_ahead_ns < 0 ? -(uint64_t)known_host->clock_ahead_ns
                      : (uint64_t)known_host->clock_ahead_ns;
    if (off_ns > 60 * NS_PER_S)
        log_warn("the clock of %s is %s %s. Its timestamps are kept unchanged.", peer->host, format_duration(off_ns).s,
                 known_host->clock_ahead_ns < 0 ? "behind" : "ahead");
}

static bool set_peer(struct peer *peer, const struct message_hello *hello)
{
    bool is_collector = bytes_equal(hello->role, bytes_of("collector"));
    if (peer->known_host && peer->known_host->connections[peer->is_collector] == peer)
        peer->known_host->connections[peer->is_collector] = NULL; /* a second HELLO */
    peer_close_feeds(peer);
    peer->is_collector = is_collector;
    peer->instance = hello->instance;
    peer->known_host = NULL;
    return replace(&peer->host, hello->host) && replace(&peer->software, hello->software);
}

void receiver_handle_hello(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer,
                         const struct message *message)
{
    struct message_hello hello;
    if (message_read_hello(message->body, &hello) || !known_hosts_is_name(hello.host)) {
        receiver_handle_invalid(receiver, from, peer);
        return;
    }
    if (!peer && peers_add(&receiver->peers, from, &peer))
        return; /* it will try again */
    peer->last_received_ns = clock_monotonic_ns();
    peer->received = message->number;
    peer->state = PEER_ACCEPTED;
    bool is_set = set_peer(peer, &hello);
    if (is_set && !is_allowed(receiver, peer, &hello))
        return; /* its host does not become a known one */
    if (!is_set || known_hosts_get(&receiver->known_hosts, hello.host, &peer->known_host))
        receiver_refuse(receiver, peer, false, "this collector is out of memory");
    else if (is_only_peer(receiver, peer)) {
        update_known_host(peer, &hello);
        welcome(receiver, peer, &hello);
    }
}

/* Only a collector with a key for any host may forward the data of others. */
static bool may_send_for(const struct peer *peer, struct bytes host)
{
    return bytes_equal(bytes_of(peer->host), host) || (peer->is_collector && !peer->name[0]);
}

void receiver_handle_open(struct receiver *receiver, struct peer *peer, struct bytes body)
{
    struct message_open open;
    struct known_host *known_host;
    struct feed *feed;
    if (message_read_open(body, &open) || !open.stream || !known_hosts_is_name(open.host)) {
        receiver_refuse(receiver, peer, false, "it opened an invalid stream");
        return;
    }
    if (!may_send_for(peer, open.host)) {
        receiver_refuse(receiver, peer, true,
                        "it sends for %.*s, but may send only for %s; a collector needs a key with the name * "
                        "here", (int)open.host.size, open.host.data, peer->host);
        return;
    }
    enum err err = known_hosts_get(&receiver->known_hosts, open.host, &known_host);
    if (!err)
        err = feed_new(&feed, peer, known_host, open.stream);
    if (!err)
        err = peer_set_feed_take(peer, open.number, feed);
    if (err)
        receiver_refuse(receiver, peer, false, "cannot open a stream: %s", err_text(err));
    else if (!known_host->first_ns)
        known_host->first_ns = clock_realtime_ns();
}
