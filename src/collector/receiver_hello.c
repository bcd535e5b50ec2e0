/* Who may come in: HELLO, and which hosts a peer may speak for. */
#include "collector/receiver.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "transport/munge.h"

#include <stdlib.h>
#include <string.h>

#define WHY_MAX 512

/* A name becomes a label, a file, a column: nothing that could be taken for something else. */
static bool is_name(struct bytes name)
{
    if (name.size == 0 || name.size >= JOURNAL_HOST_MAX || name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] <= ' ' || name.data[i] == '/' || name.data[i] == 0x7f)
            return false;
    return true;
}

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
    struct buf why;
    if (hello->version_min > MESSAGE_VERSION || hello->version_max < 1) {
        receiver_refuse(receiver, peer, true, "it speaks version %llu of the protocol and later (%.*s), this collector no more "
                        "than %d (sonde " SONDE_VERSION "). Bring the collector up to date first",
                        (unsigned long long)hello->version_min, (int)hello->software.size, hello->software.data,
                        MESSAGE_VERSION);
        return false;
    }
    if (peer->name[0] && strcmp(peer->name, peer->host) != 0) {
        receiver_refuse(receiver, peer, true, "its key is that of %s, and it calls itself %s", peer->name, peer->host);
        return false;
    }
    if (!receiver->settings.munge)
        return true;
    buf_init(&why, WHY_MAX);
    enum err err = hello->credential.size ? munge_check(hello->credential, peer->host, &why) : DENIED;
    if (err)
        receiver_refuse(receiver, peer, false, "%s",
                        why.size ? buf_text(&why) : "it shows no credential of munge, which this collector wants (--munge)");
    buf_clear(&why);
    return !err;
}

/* A connection that was cut is still known to us: a word to it tells. */
static bool is_alive(struct receiver *receiver, const struct peer *peer)
{
    if (peer->state != PEER_TAKEN || clock_monotonic_ns() - peer->heard_ns > RECEIVER_PEER_SILENT_NS)
        return false;
    buf_reset(&receiver->body);
    buf_add_char(&receiver->body, 0); /* acknowledges nothing */
    return receiver_answer(receiver, peer, MESSAGE_ACK) != GONE;
}

/* False: somebody else of this name is here, and the new one was refused. The same one that comes anew takes its place. */
static bool is_alone(struct receiver *receiver, struct peer *peer)
{
    struct peer *other = peer->origin->owners[peer->is_collector];
    if (!other || other == peer)
        return true;
    if (other->instance != peer->instance && is_alive(receiver, other)) {
        const char *kind = peer->is_collector ? "collector" : "agent";
        receiver_refuse(receiver, peer, false, "another %s calls itself %s%s%s, since %s. Stop one of them, or give it another "
                        "name", kind, peer->host, other->address[0] ? " at " : "", other->address,
                        text_time(other->since_ns).s);
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
    receiver_answer(receiver, peer, MESSAGE_WELCOME);
}

static void note_origin(struct peer *peer, const struct message_hello *hello)
{
    struct origin *origin = peer->origin;
    uint64_t now_ns = clock_realtime_ns();
    origin->owners[peer->is_collector] = peer;
    origin->heard_ns = peer->since_ns = now_ns;
    if (!origin->first_ns)
        origin->first_ns = now_ns;
    if (!hello->time_ns)
        return;
    origin->ahead_ns = (int64_t)(hello->time_ns - now_ns);
    origin->ahead_known = true;
    uint64_t off_ns = origin->ahead_ns < 0 ? -(uint64_t)origin->ahead_ns : (uint64_t)origin->ahead_ns;
    if (off_ns > 60 * NS_PER_S)
        log_warn("the clock of %s is %s %s. Its times are kept as it tells them.", peer->host, text_duration(off_ns).s,
                 origin->ahead_ns < 0 ? "behind" : "ahead");
}

static bool set_peer(struct receiver *receiver, struct peer *peer, const struct message_hello *hello)
{
    bool is_collector = bytes_equal(hello->role, bytes_of("collector"));
    if (peer->origin && peer->origin->owners[peer->is_collector] == peer)
        peer->origin->owners[peer->is_collector] = NULL; /* it said HELLO before */
    peer_close_feeds(peer);
    peer->is_collector = is_collector;
    peer->instance = hello->instance;
    return replace(&peer->host, hello->host) && replace(&peer->software, hello->software)
        && !origins_get(&receiver->origins, hello->host, &peer->origin);
}

void receiver_take_hello(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer,
                         const struct message *message)
{
    struct message_hello hello;
    if (message_read_hello(message->body, &hello) || !is_name(hello.host)) {
        receiver_take_bad(receiver, from, peer);
        return;
    }
    if (!peer && peers_add(&receiver->peers, from, &peer))
        return; /* it will try again */
    peer->heard_ns = clock_monotonic_ns();
    peer->received = message->number;
    peer->state = PEER_TAKEN;
    if (!set_peer(receiver, peer, &hello))
        receiver_refuse(receiver, peer, false, "this collector has no memory left");
    else if (is_allowed(receiver, peer, &hello) && is_alone(receiver, peer)) {
        note_origin(peer, &hello);
        welcome(receiver, peer, &hello);
    }
}

/* Only a collector with a key for any host hands on what others have said. */
static bool may_speak_for(const struct peer *peer, struct bytes host)
{
    return bytes_equal(bytes_of(peer->host), host) || (peer->is_collector && !peer->name[0]);
}

void receiver_take_open(struct receiver *receiver, struct peer *peer, struct bytes body)
{
    struct message_open open;
    struct origin *origin;
    struct feed *feed;
    if (message_read_open(body, &open) || !open.stream || !is_name(open.host)) {
        receiver_refuse(receiver, peer, false, "it opens a stream that makes no sense");
        return;
    }
    if (!may_speak_for(peer, open.host)) {
        receiver_refuse(receiver, peer, true, "it speaks for %.*s, and may speak for %s only; a collector needs a key with the "
                        "name * here", (int)open.host.size, open.host.data, peer->host);
        return;
    }
    enum err err = origins_get(&receiver->origins, open.host, &origin);
    if (!err)
        err = feed_new(&feed, peer, origin, open.stream);
    if (!err)
        err = peer_put_feed_take(peer, open.number, feed);
    if (err)
        receiver_refuse(receiver, peer, false, "a stream cannot be opened here: %s", err_text(err));
    else if (!origin->first_ns)
        origin->first_ns = clock_realtime_ns();
}
