/* One connection of the uplink: HELLO, WELCOME, then records one way and acknowledgements the other, until it ends. */
#include "transport/uplink_state.h"

#include "base/log.h"
#include "transport/address.h"
#include "transport/keys.h"
#include "transport/munge.h"
#include "model/pack.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SOFTWARE "sonde " SONDE_VERSION
#define WHY_BUF_MAX 1024
#define KNOCK_MS 1000
#define PINGS 3 /* in the time after which silence means away */

static void finish(struct uplink *uplink, enum uplink_end end, const char *why)
{
    if (uplink->end != UPLINK_GOES_ON)
        return;
    uplink->end = end;
    snprintf(uplink->why, sizeof uplink->why, "%s", why);
}

static void say_hello(struct uplink *uplink)
{
    struct buf credential, why;
    struct message_hello hello = {
        .host = bytes_of(uplink->host), .software = bytes_of(SOFTWARE), .version_min = 1, .version_max = MESSAGE_VERSION,
        .role = bytes_of(uplink->role), .instance = uplink->instance, .time_ns = clock_realtime_ns(),
    };
    buf_init(&credential, WHY_BUF_MAX * 4);
    buf_init(&why, WHY_BUF_MAX);
    if (uplink->munge && munge_say(uplink->host, &credential, &why))
        finish(uplink, UPLINK_LOST, buf_text(&why));
    hello.credential = (struct bytes){ credential.data, credential.size };
    buf_reset(&uplink->body);
    message_write_hello(&uplink->body, &hello);
    uplink_send(uplink, MESSAGE_HELLO, (struct bytes){ uplink->body.data, uplink->body.size });
    buf_clear(&credential);
    buf_clear(&why);
}

/* The reader begins again behind what was acknowledged last. */
static void begin_records(struct uplink *uplink)
{
    journal_reader_close(&uplink->reader);
    enum err err = journal_reader_open(uplink->journal, &uplink->reader, uplink->name, true, 0);
    if (err)
        finish(uplink, UPLINK_LOST, "the spool cannot be read");
    uplink_streams_reset(uplink->streams);
    uplink->is_drained = false;
}

static void take_welcome(struct uplink *uplink, struct bytes body)
{
    struct message_welcome welcome;
    char why[UPLINK_WHY_MAX];
    if (uplink->is_welcome)
        return;
    if (message_read_welcome(body, &welcome)) {
        finish(uplink, UPLINK_LOST, "its welcome makes no sense");
        return;
    }
    if (welcome.version < 1 || welcome.version > MESSAGE_VERSION) {
        snprintf(why, sizeof why, "it speaks version %llu of the protocol (%.*s), and we no more than %d",
                 (unsigned long long)welcome.version, (int)welcome.software.size, welcome.software.data, MESSAGE_VERSION);
        finish(uplink, UPLINK_NOT_WANTED, why);
        return;
    }
    if (welcome.window_bytes)
        uplink->window_bytes = welcome.window_bytes < UPLINK_WINDOW_BYTES ? welcome.window_bytes : UPLINK_WINDOW_BYTES;
    uplink->is_welcome = true;
    uplink->now.connections++;
    begin_records(uplink);
    uplink_say(uplink, UPLINK_UP, "");
}

static void take_ack(struct uplink *uplink, struct bytes body)
{
    struct unpacker unpacker = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false };
    uint64_t number = unpack_number(&unpacker);
    if (unpacker.bad || number > uplink->number)
        finish(uplink, UPLINK_LOST, "it acknowledges what was never sent");
    else
        uplink_send_acked(uplink, number);
}

static void take_cannot(struct uplink *uplink, struct bytes body)
{
    struct message_cannot cannot;
    if (message_read_cannot(body, &cannot))
        return;
    if (cannot.kind == MESSAGE_RECORD)
        uplink->now.unreadable++;
    snprintf(uplink->now.why, sizeof uplink->now.why, "it cannot read messages of kind %llu, version %llu: %.*s",
             (unsigned long long)cannot.kind, (unsigned long long)cannot.version, (int)cannot.why.size, cannot.why.data);
    if (uplink->now.unreadable <= 1)
        log_warn("the collector %s: %s", uplink->now.collector, uplink->now.why);
}

static void take_refuse(struct uplink *uplink, struct bytes body)
{
    struct message_refuse refuse;
    char why[UPLINK_WHY_MAX] = "it refuses us and does not say why";
    if (!message_read_refuse(body, &refuse) && refuse.why.size)
        snprintf(why, sizeof why, "%.*s", (int)refuse.why.size, refuse.why.data);
    finish(uplink, UPLINK_NOT_WANTED, why);
}

/* Of a newer collector: told once per kind, and ignored. Never about a CANNOT: two of them could go on for ever. */
static void say_cannot(struct uplink *uplink, const struct message *message)
{
    unsigned kind = (unsigned)message->kind & 0xff;
    if (uplink->told_kinds[kind / 32] & 1u << kind % 32)
        return;
    uplink->told_kinds[kind / 32] |= 1u << kind % 32;
    struct message_cannot cannot = { .kind = kind, .version = message->version, .number = message->number,
                                     .why = bytes_of("this is " SOFTWARE ", which does not know it") };
    buf_reset(&uplink->body);
    message_write_cannot(&uplink->body, &cannot);
    uplink_send(uplink, MESSAGE_CANNOT, (struct bytes){ uplink->body.data, uplink->body.size });
    log_warn("the collector %s says something that this version of Sonde does not know (kind %u, version %u): ignored",
             uplink->now.collector, kind, message->version);
}

static void take_message(struct uplink *uplink, struct bytes bytes)
{
    struct message message;
    if (message_read(bytes, &message, &uplink->plain)) {
        finish(uplink, UPLINK_LOST, "it does not speak Sonde's language, or what it said was damaged on the way");
        return;
    }
    uplink->heard_ns = clock_monotonic_ns();
    switch (message.kind) {
    case MESSAGE_WELCOME: take_welcome(uplink, message.body); break;
    case MESSAGE_ACK: take_ack(uplink, message.body); break;
    case MESSAGE_CANNOT: take_cannot(uplink, message.body); break;
    case MESSAGE_REFUSE: take_refuse(uplink, message.body); break;
    case MESSAGE_AGAIN: finish(uplink, UPLINK_ANEW, "it was started anew"); break;
    default: say_cannot(uplink, &message);
    }
}

static void hear(struct uplink *uplink)
{
    char why[UPLINK_WHY_MAX];
    while (uplink->end == UPLINK_GOES_ON) {
        enum err err = uplink->zmq->dealer_next(uplink->dealer, &uplink->message);
        if (err == AGAIN)
            break;
        if (err)
            finish(uplink, UPLINK_LOST, err_text(err));
        else
            take_message(uplink, (struct bytes){ uplink->message.data, uplink->message.size });
    }
    if (!uplink->zmq->dealer_is_up(uplink->dealer, why, sizeof why) && why[0])
        finish(uplink, UPLINK_LOST, why);
}

static bool wants_more(const struct uplink *uplink)
{
    return uplink->is_welcome && !uplink->is_returning && uplink->out.size == 0
           && uplink->unacked_bytes < uplink->window_bytes;
}

/* In time for the next ping, for silence, and for a look at the figures once in a while. */
static int timeout_ms(const struct uplink *uplink, uint64_t now_ns)
{
    uint64_t next_ns = uplink->said_ns + uplink->silence_ns / PINGS, silence_ns = uplink->heard_ns + uplink->silence_ns;
    uint64_t stop_ns = uplink_stop_ns(uplink);
    if (wants_more(uplink) && !uplink->is_drained)
        return 0;
    next_ns = next_ns < silence_ns ? next_ns : silence_ns;
    next_ns = stop_ns && stop_ns < next_ns ? stop_ns : next_ns;
    next_ns = uplink->look_ns && uplink->look_ns < next_ns ? uplink->look_ns : next_ns;
    return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / NS_PER_MS) + 1;
}

static void rest(struct uplink *uplink)
{
    bool listens = wants_more(uplink) && uplink->is_drained;
    struct pollfd fds[] = {
        { .fd = uplink->wake_fd, .events = POLLIN },
        { .fd = uplink->zmq->dealer_fd(uplink->dealer), .events = POLLIN },
        { .fd = listens ? journal_reader_fd(uplink->reader) : -1, .events = POLLIN },
    };
    uint64_t ignored;
    uplink_publish(uplink);
    poll(fds, 3, timeout_ms(uplink, clock_monotonic_ns()));
    if (fds[0].revents && read(uplink->wake_fd, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
        finish(uplink, UPLINK_LOST, "the eventfd is broken");
}

static bool is_all_acked(const struct uplink *uplink)
{
    return uplink->is_welcome && uplink->is_drained && uplink->out.size == 0 && uplink->sent_count == 0;
}

/* Ours are read each time, so that new ones need no restart. */
static bool read_keys(struct uplink *uplink, const char *server_key, struct keys_pair *ours, char its_key[ZMQ_KEY_MAX])
{
    struct buf why;
    buf_init(&why, WHY_BUF_MAX);
    enum err err = keys_read(uplink->key_file, ours, &why);
    if (!err && !ours->secret_key[0]) {
        buf_printf(&why, "%s holds no secret key, only a public one", uplink->key_file);
        err = USAGE;
    }
    if (!err)
        err = keys_read_public(server_key, its_key, &why);
    if (err)
        finish(uplink, UPLINK_LOST, buf_text(&why));
    buf_clear(&why);
    return !err;
}

/* A reload that changes nothing costs nothing. */
static void compare_keys(struct uplink *uplink, const char *server_key)
{
    struct keys_pair ours = { 0 };
    char its_key[ZMQ_KEY_MAX];
    if (!server_key || !read_keys(uplink, server_key, &ours, its_key))
        return;
    explicit_bzero(ours.secret_key, sizeof ours.secret_key);
    if (strcmp(ours.public_key, uplink->used_key) != 0 || strcmp(its_key, uplink->used_server_key) != 0)
        finish(uplink, UPLINK_REKEYED, "");
}

static void open_dealer(struct uplink *uplink, const char *address, const char *server_key)
{
    struct keys_pair ours = { 0 };
    char its_key[ZMQ_KEY_MAX], why[UPLINK_WHY_MAX] = "";
    struct zmq_keys keys = { .public_key = ours.public_key, .secret_key = ours.secret_key, .server_key = its_key };
    if (server_key && !read_keys(uplink, server_key, &ours, its_key))
        return;
    snprintf(uplink->used_key, sizeof uplink->used_key, "%s", ours.public_key);
    snprintf(uplink->used_server_key, sizeof uplink->used_server_key, "%s", server_key ? its_key : "");
    enum err err = uplink->zmq->dealer_open(&uplink->dealer, address, server_key ? &keys : NULL, why, sizeof why);
    explicit_bzero(&ours, sizeof ours);
    if (err)
        finish(uplink, UPLINK_LOST, why[0] ? why : err_text(err));
}

/* Only when nothing is on its way: what is not acknowledged here would be sent there again. */
static void look_at_first(struct uplink *uplink, uint64_t now_ns)
{
    if (uplink->is_returning && uplink->out.size == 0 && uplink->sent_count == 0)
        finish(uplink, UPLINK_RETURNS, "");
    if (!uplink->is_welcome || !uplink->look_ns || now_ns < uplink->look_ns)
        return;
    uplink->is_returning = address_answers(uplink->collectors[0], KNOCK_MS);
    uplink->look_ns = uplink->is_returning ? 0 : now_ns + uplink_between(uplink, uplink->return_ns, uplink->return_ns * 3 / 2);
    if (uplink->is_returning)
        log_info("the collector %s is back: we return to it", uplink->collectors[0]);
}

static void look_at_time(struct uplink *uplink, const char *server_key)
{
    uint64_t now_ns = clock_monotonic_ns(), stop_ns = uplink_stop_ns(uplink);
    if (stop_ns && (now_ns >= stop_ns || is_all_acked(uplink)))
        finish(uplink, UPLINK_STOPPED, "");
    if (now_ns - uplink->heard_ns >= uplink->silence_ns)
        finish(uplink, UPLINK_LOST, uplink->is_welcome ? "it is silent" : "it does not answer");
    if (uplink->is_welcome && now_ns - uplink->said_ns >= uplink->silence_ns / PINGS)
        uplink_send(uplink, MESSAGE_PING, (struct bytes){ 0 });
    if (atomic_exchange(&uplink->is_reloading, false))
        compare_keys(uplink, server_key);
    look_at_first(uplink, now_ns);
    uplink_look_after(uplink, now_ns);
}

void uplink_talk(struct uplink *uplink, const char *address, const char *server_key)
{
    uplink->end = UPLINK_GOES_ON;
    uplink->is_welcome = uplink->has_acked = uplink->is_returning = false;
    uplink->heard_ns = uplink->said_ns = clock_monotonic_ns();
    memset(uplink->told_kinds, 0, sizeof uplink->told_kinds);
    uplink_send_reset(uplink);
    open_dealer(uplink, address, server_key);
    if (uplink->end == UPLINK_GOES_ON)
        say_hello(uplink);
    while (uplink->end == UPLINK_GOES_ON) {
        hear(uplink);
        bool is_open = uplink->is_welcome && !uplink->is_returning;
        bool is_moved = is_open ? uplink_send_more(uplink) : uplink_send_flush(uplink);
        look_at_time(uplink, server_key);
        if (!is_moved && uplink->end == UPLINK_GOES_ON) /* after sending there may be something to hear that no fd tells */
            rest(uplink);
    }
    uplink->zmq->dealer_close(&uplink->dealer);
}
