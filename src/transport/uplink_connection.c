/* One connection of the uplink: HELLO and WELCOME, then records up and acknowledgements down, until it ends. At most a
 * window of bytes is unacknowledged; acknowledgements move the journal's cursor. */
#include "transport/uplink_state.h"

#include "base/log.h"
#include "transport/address.h"
#include "transport/keys.h"
#include "transport/munge.h"
#include "model/pack.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOFTWARE "sonde " SONDE_VERSION
#define ERROR_BUF_MAX 1024
#define PROBE_MS 1000
#define ACK_WAIT_MS 1500 /* longer than the usual interval of samples */
#define OUT_MAX (4u * MESSAGE_MAX)
#define SENT_MIN 64
#define TURN_MAX 256 /* entries per turn, so that acknowledgements are read in between */
#define PINGS 3 /* pings within silence_ns */

static void finish(struct uplink *uplink, enum uplink_end end, const char *error)
{
    if (uplink->end != UPLINK_END_NONE)
        return;
    uplink->end = end;
    snprintf(uplink->error, sizeof uplink->error, "%s", error);
}

static void reset_sending(struct uplink *uplink)
{
    uplink->number = uplink->unacked_bytes = uplink->position = 0;
    uplink->sent_first = uplink->sent_count = 0;
    uplink->out_at = 0;
    uplink->is_drained = false;
    uplink->window_bytes = UPLINK_WINDOW_BYTES;
    uplink->out.max = OUT_MAX;
    buf_reset(&uplink->out);
    uplink_streams_reset(uplink->streams);
}

static enum err add_sent(struct uplink *uplink, const struct uplink_sent *sent)
{
    if (uplink->sent_count == uplink->sent_capacity) {
        size_t capacity = uplink->sent_capacity ? uplink->sent_capacity * 2 : SENT_MIN;
        struct uplink_sent *ring = calloc(capacity, sizeof *ring);
        if (!ring)
            return NOMEM;
        for (size_t i = 0; i < uplink->sent_count; i++)
            ring[i] = uplink->sent[(uplink->sent_first + i) % uplink->sent_capacity];
        free(uplink->sent);
        uplink->sent = ring;
        uplink->sent_capacity = capacity;
        uplink->sent_first = 0;
    }
    uplink->sent[(uplink->sent_first + uplink->sent_count++) % uplink->sent_capacity] = *sent;
    return OK;
}

static void send_message(struct uplink *uplink, enum message_kind kind, struct bytes body)
{
    struct message message = { .version = MESSAGE_VERSION, .kind = kind, .number = ++uplink->number, .body = body };
    size_t before = uplink->out.size;
    uint32_t size = 0;
    buf_add(&uplink->out, &size, sizeof size);
    message_write(&uplink->out, &message, true);
    if (buf_err(&uplink->out)) {
        finish(uplink, UPLINK_END_LOST, "out of memory");
        return;
    }
    size = (uint32_t)(uplink->out.size - before - sizeof size);
    memcpy(uplink->out.data + before, &size, sizeof size);
    struct uplink_sent sent = { .number = message.number, .bytes = size };
    if (kind == MESSAGE_RECORD) {
        sent.position = uplink->position;
        sent.records = 1;
        uplink->now.records_sent++;
    }
    if (add_sent(uplink, &sent))
        finish(uplink, UPLINK_END_LOST, "out of memory");
    uplink->unacked_bytes += size;
}

void uplink_connection_send(void *uplink, enum message_kind kind, struct bytes body)
{
    send_message(uplink, kind, body);
}

static bool flush_messages(struct uplink *uplink)
{
    bool has_progress = false;
    while (uplink->out_at < uplink->out.size && uplink->end == UPLINK_END_NONE) {
        uint32_t size;
        memcpy(&size, uplink->out.data + uplink->out_at, sizeof size);
        struct bytes message = { uplink->out.data + uplink->out_at + sizeof size, size };
        enum err err = uplink->zmq->dealer_send(uplink->dealer, message);
        if (err == AGAIN)
            break;
        if (err)
            finish(uplink, UPLINK_END_LOST, err_text(err));
        uplink->out_at += sizeof size + size;
        uplink->now.bytes_sent += size;
        has_progress = true;
    }
    if (uplink->out_at == uplink->out.size) {
        buf_reset(&uplink->out);
        uplink->out_at = 0;
    }
    if (has_progress)
        uplink->sent_ns = clock_monotonic_ns();
    return has_progress;
}

/* Damage is skipped: the journal delivers its cost as a gap. */
static bool send_entry(struct uplink *uplink)
{
    struct journal_entry entry;
    enum err err = journal_reader_next(uplink->reader, &entry);
    if (err == CORRUPT)
        return true;
    uplink->is_drained = err == AGAIN;
    if (err == AGAIN)
        return false;
    if (!err) {
        uplink->position = entry.position;
        err = uplink_streams_add(uplink->streams, &entry);
    }
    if (err) {
        char error[UPLINK_ERROR_MAX];
        snprintf(error, sizeof error, "cannot send from the journal: %s", err_text(err));
        finish(uplink, UPLINK_END_LOST, error);
    }
    return !err;
}

static bool send_entries(struct uplink *uplink)
{
    bool has_progress = flush_messages(uplink);
    for (int i = 0; i < TURN_MAX && uplink->end == UPLINK_END_NONE; i++) {
        if (uplink->out.size || uplink->unacked_bytes >= uplink->window_bytes || !send_entry(uplink))
            break;
        has_progress |= flush_messages(uplink);
    }
    return has_progress;
}

static void handle_acked(struct uplink *uplink, uint64_t number)
{
    uint64_t position = 0, records = 0;
    while (uplink->sent_count && uplink->sent[uplink->sent_first].number <= number) {
        const struct uplink_sent *sent = &uplink->sent[uplink->sent_first];
        position = sent->position ? sent->position : position;
        records += sent->records;
        uplink->unacked_bytes -= sent->bytes;
        uplink->sent_first = (uplink->sent_first + 1) % uplink->sent_capacity;
        uplink->sent_count--;
    }
    uplink->has_acked = true;
    if (position)
        journal_reader_ack(uplink->reader, position);
    uplink->now.records_acked += records;
    if (records)
        uplink->now.acked_ns = clock_realtime_ns();
}

static void send_hello(struct uplink *uplink)
{
    struct buf credential, error;
    struct message_hello hello = {
        .host = bytes_of(uplink->host), .software = bytes_of(SOFTWARE), .version_min = 1, .version_max = MESSAGE_VERSION,
        .role = bytes_of(uplink->role), .instance = uplink->instance, .time_ns = clock_realtime_ns(),
    };
    buf_init(&credential, ERROR_BUF_MAX * 4);
    buf_init(&error, ERROR_BUF_MAX);
    if (uplink->munge && munge_create(uplink->host, &credential, &error))
        finish(uplink, UPLINK_END_LOST, buf_text(&error));
    hello.credential = (struct bytes){ credential.data, credential.size };
    buf_reset(&uplink->body);
    message_write_hello(&uplink->body, &hello);
    send_message(uplink, MESSAGE_HELLO, (struct bytes){ uplink->body.data, uplink->body.size });
    buf_clear(&credential);
    buf_clear(&error);
}

/* Restarts the reader after the last acknowledged entry. */
static void restart_reader(struct uplink *uplink)
{
    journal_reader_close(&uplink->reader);
    enum err err = journal_reader_open(uplink->journal, &uplink->reader, uplink->name, true, 0);
    if (err)
        finish(uplink, UPLINK_END_LOST, "cannot read the journal");
    uplink_streams_reset(uplink->streams);
    uplink->is_drained = false;
}

static void handle_welcome(struct uplink *uplink, struct bytes body)
{
    struct message_welcome welcome;
    char error[UPLINK_ERROR_MAX];
    if (uplink->is_welcomed)
        return;
    if (message_read_welcome(body, &welcome)) {
        finish(uplink, UPLINK_END_LOST, "its WELCOME message is invalid");
        return;
    }
    if (welcome.version < 1 || welcome.version > MESSAGE_VERSION) {
        snprintf(error, sizeof error, "it uses protocol version %llu (%.*s), and we support versions up to %d",
                 (unsigned long long)welcome.version, (int)welcome.software.size, welcome.software.data, MESSAGE_VERSION);
        finish(uplink, UPLINK_END_REFUSED, error);
        return;
    }
    if (welcome.window_bytes)
        uplink->window_bytes = welcome.window_bytes < UPLINK_WINDOW_BYTES ? welcome.window_bytes : UPLINK_WINDOW_BYTES;
    uplink->is_welcomed = true;
    uplink->now.connections++;
    restart_reader(uplink);
    uplink_set_state(uplink, UPLINK_UP, "");
}

static void handle_ack(struct uplink *uplink, struct bytes body)
{
    struct unpacker unpacker = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false };
    uint64_t number = unpack_number(&unpacker);
    if (unpacker.bad || number > uplink->number)
        finish(uplink, UPLINK_END_LOST, "it acknowledged a message that was never sent");
    else
        handle_acked(uplink, number);
}

static void handle_cannot(struct uplink *uplink, struct bytes body)
{
    struct message_cannot cannot;
    if (message_read_cannot(body, &cannot))
        return;
    if (cannot.kind == MESSAGE_RECORD)
        uplink->now.unreadable++;
    snprintf(uplink->now.error, sizeof uplink->now.error, "it cannot read messages of kind %llu, version %llu: %.*s",
             (unsigned long long)cannot.kind, (unsigned long long)cannot.version, (int)cannot.error.size, cannot.error.data);
    if (uplink->now.unreadable <= 1)
        log_warn("collector %s: %s", uplink->now.collector, uplink->now.error);
}

static void handle_refuse(struct uplink *uplink, struct bytes body)
{
    struct message_refuse refuse;
    char error[UPLINK_ERROR_MAX] = "it refused the connection without a reason";
    if (!message_read_refuse(body, &refuse) && refuse.error.size)
        snprintf(error, sizeof error, "%.*s", (int)refuse.error.size, refuse.error.data);
    finish(uplink, UPLINK_END_REFUSED, error);
}

/* A message kind of a newer collector: answered once per kind and ignored. CANNOT itself is never answered, to avoid
 * loops. */
static void send_cannot(struct uplink *uplink, const struct message *message)
{
    unsigned kind = (unsigned)message->kind & 0xff;
    if (uplink->reported_kinds[kind / 32] & 1u << kind % 32)
        return;
    uplink->reported_kinds[kind / 32] |= 1u << kind % 32;
    struct message_cannot cannot = { .kind = kind, .version = message->version, .number = message->number,
                                     .error = bytes_of("unknown to " SOFTWARE) };
    buf_reset(&uplink->body);
    message_write_cannot(&uplink->body, &cannot);
    send_message(uplink, MESSAGE_CANNOT, (struct bytes){ uplink->body.data, uplink->body.size });
    log_warn("collector %s sent a message that this version of Sonde does not know (kind %u, version %u); ignored",
             uplink->now.collector, kind, message->version);
}

static void handle_message(struct uplink *uplink, struct bytes bytes)
{
    struct message message;
    if (message_read(bytes, &message, &uplink->plain)) {
        finish(uplink, UPLINK_END_LOST, "not a Sonde message, or it was damaged in transit");
        return;
    }
    uplink->received_ns = clock_monotonic_ns();
    switch (message.kind) {
    case MESSAGE_WELCOME: handle_welcome(uplink, message.body); break;
    case MESSAGE_ACK: handle_ack(uplink, message.body); break;
    case MESSAGE_CANNOT: handle_cannot(uplink, message.body); break;
    case MESSAGE_REFUSE: handle_refuse(uplink, message.body); break;
    case MESSAGE_AGAIN: finish(uplink, UPLINK_END_RESTART, "it was restarted"); break;
    default: send_cannot(uplink, &message);
    }
}

static void receive(struct uplink *uplink)
{
    char error[UPLINK_ERROR_MAX];
    while (uplink->end == UPLINK_END_NONE) {
        enum err err = uplink->zmq->dealer_next(uplink->dealer, &uplink->message);
        if (err == AGAIN)
            break;
        if (err)
            finish(uplink, UPLINK_END_LOST, err_text(err));
        else
            handle_message(uplink, (struct bytes){ uplink->message.data, uplink->message.size });
    }
    if (!uplink->zmq->dealer_is_up(uplink->dealer, error, sizeof error) && error[0])
        finish(uplink, UPLINK_END_LOST, error);
}

static bool wants_more(const struct uplink *uplink)
{
    return uplink->is_welcomed && !uplink->is_returning && uplink->out.size == 0
           && uplink->unacked_bytes < uplink->window_bytes;
}

/* Until the next ping, timeout, or check for the first collector. */
static int timeout_ms(const struct uplink *uplink, uint64_t now_ns)
{
    uint64_t next_ns = uplink->sent_ns + uplink->silence_ns / PINGS, silence_ns = uplink->received_ns + uplink->silence_ns;
    uint64_t stop_ns = uplink_stop_ns(uplink);
    if (wants_more(uplink) && !uplink->is_drained)
        return 0;
    next_ns = next_ns < silence_ns ? next_ns : silence_ns;
    next_ns = stop_ns && stop_ns < next_ns ? stop_ns : next_ns;
    next_ns = uplink->retry_first_ns && uplink->retry_first_ns < next_ns ? uplink->retry_first_ns : next_ns;
    return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / NS_PER_MS) + 1;
}

/* Nothing depends on the acknowledgements soon: they are read together with the next entry, which saves a wake-up for each. */
static bool can_wait_for_acks(const struct uplink *uplink)
{
    return wants_more(uplink) && uplink->is_drained && uplink->unacked_bytes < uplink->window_bytes / 2
        && !uplink_stop_ns(uplink);
}

static void wait_for_events(struct uplink *uplink)
{
    bool wants_journal = wants_more(uplink) && uplink->is_drained;
    struct pollfd fds[] = {
        { .fd = uplink->wake_fd, .events = POLLIN },
        { .fd = wants_journal ? journal_reader_fd(uplink->reader) : -1, .events = POLLIN },
        { .fd = uplink->zmq->dealer_fd(uplink->dealer), .events = POLLIN },
    };
    uint64_t ignored;
    int wait_ms = timeout_ms(uplink, clock_monotonic_ns());
    uplink_publish(uplink);
    if (!can_wait_for_acks(uplink) || poll(fds, 2, wait_ms < ACK_WAIT_MS ? wait_ms : ACK_WAIT_MS) == 0)
        poll(fds, 3, timeout_ms(uplink, clock_monotonic_ns()));
    if (fds[0].revents && read(uplink->wake_fd, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
        finish(uplink, UPLINK_END_LOST, "cannot read the eventfd");
}

static bool is_all_acked(const struct uplink *uplink)
{
    return uplink->is_welcomed && uplink->is_drained && uplink->out.size == 0 && uplink->sent_count == 0;
}

/* Our key is read for each connection, so that a new one needs no restart. */
static bool read_keys(struct uplink *uplink, const char *server_key, struct keys_pair *ours, char their_key[ZMQ_KEY_MAX])
{
    struct buf error;
    buf_init(&error, ERROR_BUF_MAX);
    enum err err = keys_read(uplink->key_file, ours, &error);
    if (!err && !ours->secret_key[0]) {
        buf_printf(&error, "%s contains only a public key, no secret key", uplink->key_file);
        err = USAGE;
    }
    if (!err)
        err = keys_read_public(server_key, their_key, &error);
    if (err)
        finish(uplink, UPLINK_END_LOST, buf_text(&error));
    buf_clear(&error);
    return !err;
}

/* Reconnects after a reload only if a key has changed. */
static void compare_keys(struct uplink *uplink, const char *server_key)
{
    struct keys_pair ours = { 0 };
    char their_key[ZMQ_KEY_MAX];
    if (!server_key || !read_keys(uplink, server_key, &ours, their_key))
        return;
    explicit_bzero(ours.secret_key, sizeof ours.secret_key);
    if (strcmp(ours.public_key, uplink->used_key) != 0 || strcmp(their_key, uplink->used_server_key) != 0)
        finish(uplink, UPLINK_END_NEW_KEY, "");
}

static void open_dealer(struct uplink *uplink, const char *address, const char *server_key)
{
    struct keys_pair ours = { 0 };
    char their_key[ZMQ_KEY_MAX], error[UPLINK_ERROR_MAX] = "";
    struct zmq_keys keys = { .public_key = ours.public_key, .secret_key = ours.secret_key, .server_key = their_key };
    if (server_key && !read_keys(uplink, server_key, &ours, their_key))
        return;
    snprintf(uplink->used_key, sizeof uplink->used_key, "%s", ours.public_key);
    snprintf(uplink->used_server_key, sizeof uplink->used_server_key, "%s", server_key ? their_key : "");
    enum err err = uplink->zmq->dealer_open(&uplink->dealer, address, server_key ? &keys : NULL, error, sizeof error);
    explicit_bzero(&ours, sizeof ours);
    if (err)
        finish(uplink, UPLINK_END_LOST, error[0] ? error : err_text(err));
}

/* Returns only when nothing is in flight: unacknowledged records would be sent to both collectors. */
static void check_first_collector(struct uplink *uplink, uint64_t now_ns)
{
    if (uplink->is_returning && uplink->out.size == 0 && uplink->sent_count == 0)
        finish(uplink, UPLINK_END_RETURN, "");
    if (!uplink->is_welcomed || !uplink->retry_first_ns || now_ns < uplink->retry_first_ns)
        return;
    uplink->is_returning = address_is_reachable(uplink->collectors[0], PROBE_MS);
    uint64_t interval_ns = uplink_random_ns(uplink, uplink->return_ns, uplink->return_ns * 3 / 2);
    uplink->retry_first_ns = uplink->is_returning ? 0 : now_ns + interval_ns;
    if (uplink->is_returning)
        log_info("collector %s is reachable again; returning to it", uplink->collectors[0]);
}

static void check_timers(struct uplink *uplink, const char *server_key)
{
    uint64_t now_ns = clock_monotonic_ns(), stop_ns = uplink_stop_ns(uplink);
    if (stop_ns && (now_ns >= stop_ns || is_all_acked(uplink)))
        finish(uplink, UPLINK_END_STOPPED, "");
    if (now_ns - uplink->received_ns >= uplink->silence_ns)
        finish(uplink, UPLINK_END_LOST, uplink->is_welcomed ? "it stopped responding" : "it does not respond");
    if (uplink->is_welcomed && now_ns - uplink->sent_ns >= uplink->silence_ns / PINGS)
        send_message(uplink, MESSAGE_PING, (struct bytes){ 0 });
    if (atomic_exchange(&uplink->is_reloading, false))
        compare_keys(uplink, server_key);
    check_first_collector(uplink, now_ns);
    uplink_sync_journal(uplink, now_ns);
}

void uplink_connection_run(struct uplink *uplink, const char *address, const char *server_key)
{
    uplink->end = UPLINK_END_NONE;
    uplink->is_welcomed = uplink->has_acked = uplink->is_returning = false;
    uplink->received_ns = uplink->sent_ns = clock_monotonic_ns();
    memset(uplink->reported_kinds, 0, sizeof uplink->reported_kinds);
    reset_sending(uplink);
    open_dealer(uplink, address, server_key);
    if (uplink->end == UPLINK_END_NONE)
        send_hello(uplink);
    while (uplink->end == UPLINK_END_NONE) {
        receive(uplink);
        bool is_open = uplink->is_welcomed && !uplink->is_returning;
        bool has_progress = is_open ? send_entries(uplink) : flush_messages(uplink);
        check_timers(uplink, server_key);
        if (!has_progress && uplink->end == UPLINK_END_NONE) /* after sending there may be input that no descriptor signals */
            wait_for_events(uplink);
    }
    uplink->zmq->dealer_close(&uplink->dealer);
}
