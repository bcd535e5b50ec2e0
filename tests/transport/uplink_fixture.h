/* Both ends of an uplink in one test: a journal with records of one stream, and a collector that sends only what the
 * test tells it to. */
#ifndef SONDE_TESTS_TRANSPORT_UPLINK_FIXTURE_H
#define SONDE_TESTS_TRANSPORT_UPLINK_FIXTURE_H

#include "base/clock.h"
#include "tools/temp.h"
#include "tools/unit.h"
#include "model/pack.h"
#include "journal/stream.h"
#include "transport/uplink.h"
#include "transport/message.h"
#include "transport/zmq.h"

#include <poll.h>
#include <unistd.h>

#define WAIT_NS (20 * NS_PER_S)
#define HOST "node17"
#define STREAM_ID 4711

static const struct metric fixture_metrics[] = { { "count", "1", COUNTER, U64, "how often" }, { "other", "1", GAUGE, U64, "x" } };
static const struct set fixture_set = { "numbers", fixture_metrics, 2 };

static const struct zmq_module *zmq;
static char dir[TEMP_PATH_MAX], address[64];
static struct journal *journal;
static struct delta_stream *encoder;
static uint64_t fed;
static struct uplink *uplink;
static struct zmq_router *router;
static struct zmq_peer peer;
static struct buf error, in, plain;
static struct message got;

static inline void feed(unsigned count)
{
    struct buf bytes;
    struct batch batch;
    buf_init(&bytes, 1 << 20);
    batch_init(&batch);
    for (; count; count--) {
        struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT, .host = HOST, .stream = STREAM_ID, .sequence = fed,
                                       .time_ns = clock_realtime_ns() };
        if (journal_needs_snapshot(journal, HOST, STREAM_ID)) {
            buf_reset(&bytes);
            stream_snapshot(encoder, &bytes);
            entry.body = (struct bytes){ bytes.data, bytes.size };
            assert_int_equal(journal_append(journal, &entry), OK);
        }
        batch_reset(&batch);
        struct sample *sample = batch_add(&batch, &fixture_set, NS_PER_S * ++fed, "");
        sample_set_u64(sample, 0, fed * 10);
        buf_reset(&bytes);
        assert_int_equal(stream_encode(encoder, &batch, &bytes), OK);
        entry.kind = JOURNAL_RECORD;
        entry.sequence = fed;
        entry.body = (struct bytes){ bytes.data, bytes.size };
        assert_int_equal(journal_append(journal, &entry), OK);
    }
    batch_clear(&batch);
    buf_clear(&bytes);
}

static inline void open_router(const struct zmq_keys *keys, const struct zmq_authorizer *gate)
{
    const char *addresses[] = { address, NULL };
    char reason[256];
    static unsigned next;
    enum err err = address[0] ? zmq->router_open(&router, addresses, keys, gate, reason, sizeof reason) : AGAIN;
    for (unsigned i = 0; i < 200 && err; i++) {
        snprintf(address, sizeof address, "tcp://127.0.0.1:%u", 21000 + ((unsigned)getpid() * 11 + next++) % 20000);
        err = zmq->router_open(&router, addresses, keys, gate, reason, sizeof reason);
    }
    assert_int_equal(err, OK);
}

static inline int set_up(void **state)
{
    (void)state;
    struct journal_settings settings = { .bytes = 1 << 20, .segment_bytes = 16 << 10 };
    char reason[256];
    assert_int_equal(zmq_load(&zmq, reason, sizeof reason), OK);
    temp_dir(dir);
    buf_init(&error, 8192);
    buf_init(&in, MESSAGE_MAX);
    buf_init(&plain, MESSAGE_MAX);
    fed = 0;
    address[0] = '\0';
    assert_int_equal(journal_open(&journal, dir, &settings, &error), OK);
    assert_int_equal(stream_new(&encoder), OK);
    open_router(NULL, NULL);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    uplink_close(&uplink, 0);
    zmq->router_close(&router);
    journal_close(&journal);
    stream_free(&encoder);
    buf_clear(&error);
    buf_clear(&in);
    buf_clear(&plain);
    temp_remove(dir);
    return 0;
}

static inline struct uplink_settings usual_settings(const char *const *collectors)
{
    return (struct uplink_settings){ .journal = journal, .name = "uplink", .host = HOST, .role = "agent",
                                     .collectors = collectors };
}

static inline void start_with(uint64_t silence_ns)
{
    const char *const collectors[] = { address, NULL };
    struct uplink_settings settings = usual_settings(collectors);
    settings.silence_ns = silence_ns;
    assert_int_equal(uplink_open(&uplink, &settings, &error), OK);
}

/* Waits for the next message; false: timeout. */
static inline bool receive_within(uint64_t wait_ns)
{
    uint64_t end_ns = clock_monotonic_ns() + wait_ns;
    struct pollfd fd = { .fd = zmq->router_fd(router), .events = POLLIN };
    enum err err;
    while ((err = zmq->router_next(router, &peer, &in)) == AGAIN && clock_monotonic_ns() < end_ns)
        poll(&fd, 1, 20);
    if (err == AGAIN)
        return false;
    assert_int_equal(err, OK);
    assert_int_equal(message_read((struct bytes){ in.data, in.size }, &got, &plain), OK);
    return true;
}

static inline void receive(enum message_kind kind)
{
    assert_true(receive_within(WAIT_NS));
    assert_int_equal(got.kind, kind);
}

static inline void send_as(uint8_t version, unsigned kind, struct bytes body)
{
    struct buf out;
    struct message message = { .version = version, .kind = (enum message_kind)kind, .number = 1, .body = body };
    buf_init(&out, MESSAGE_MAX);
    message_write(&out, &message, true);
    assert_int_equal(zmq->router_send(router, &peer, (struct bytes){ out.data, out.size }), OK);
    buf_clear(&out);
}

static inline void send_to_uplink(enum message_kind kind, struct bytes body)
{
    send_as(MESSAGE_VERSION, kind, body);
}

static inline void send_ack(uint64_t number)
{
    uint8_t bytes[PACK_NUMBER_MAX];
    struct packer packer = { bytes, bytes + sizeof bytes, false };
    pack_number(&packer, number);
    send_to_uplink(MESSAGE_ACK, (struct bytes){ (char *)bytes, (size_t)(packer.at - bytes) });
}

static inline void send_welcome(uint64_t version, uint64_t window_bytes)
{
    struct message_welcome welcome = { .host = bytes_of("c"), .software = bytes_of("sonde 9"), .version = version,
                                       .window_bytes = window_bytes };
    struct buf body;
    buf_init(&body, 4096);
    message_write_welcome(&body, &welcome);
    send_to_uplink(MESSAGE_WELCOME, (struct bytes){ body.data, body.size });
    buf_clear(&body);
}

/* Checks HELLO and answers with WELCOME. */
static inline void greet(void)
{
    struct message_hello hello;
    receive(MESSAGE_HELLO);
    assert_int_equal(message_read_hello(got.body, &hello), OK);
    assert_bytes(hello.host, HOST);
    assert_bytes(hello.role, "agent");
    assert_int_equal(got.number, 1);
    send_welcome(1, 0);
}

/* Receives OPEN and STATE and restores the decoder. */
static inline void receive_opening(struct delta_stream *decoder)
{
    struct message_open open;
    receive(MESSAGE_OPEN);
    assert_int_equal(message_read_open(got.body, &open), OK);
    assert_bytes(open.host, HOST);
    assert_int_equal(open.stream, STREAM_ID);
    assert_int_equal(open.number, 0);
    receive(MESSAGE_STATE);
    struct unpacker unpacker = { (const uint8_t *)got.body.data, (const uint8_t *)got.body.data + got.body.size, false };
    assert_int_equal(unpack_number(&unpacker), 0);
    struct bytes snapshot = { (const char *)unpacker.at, (size_t)(unpacker.end - unpacker.at) };
    assert_int_equal(stream_restore(decoder, snapshot), OK);
}

/* Receives and decodes the record with this sequence; handles snapshots between segments. */
static inline void receive_record(struct delta_stream *decoder, uint64_t sequence, struct batch *batch)
{
    assert_true(receive_within(WAIT_NS));
    struct unpacker unpacker = { (const uint8_t *)got.body.data, (const uint8_t *)got.body.data + got.body.size, false };
    assert_int_equal(unpack_number(&unpacker), 0);
    if (got.kind == MESSAGE_STATE) {
        assert_int_equal(stream_restore(decoder, (struct bytes){ (const char *)unpacker.at,
                                                                 (size_t)(unpacker.end - unpacker.at) }), OK);
        receive_record(decoder, sequence, batch);
        return;
    }
    assert_int_equal(got.kind, MESSAGE_RECORD);
    assert_int_equal(unpack_number(&unpacker), sequence);
    assert_int_equal(stream_decode(decoder, (struct bytes){ (const char *)unpacker.at, (size_t)(unpacker.end - unpacker.at) },
                                   batch), OK);
}

static inline void receive_records(struct delta_stream *decoder, uint64_t from, uint64_t to)
{
    struct batch batch;
    batch_init(&batch);
    for (uint64_t sequence = from; sequence <= to; sequence++) {
        receive_record(decoder, sequence, &batch);
        assert_int_equal(batch.count, 1);
        assert_int_equal(batch.samples[0].values[0].u64, sequence * 10);
        assert_int_equal(batch.samples[0].time_ns, sequence * NS_PER_S);
    }
    batch_clear(&batch);
}

/* Polls the figures until test returns true. */
static inline bool comes_true(bool (*test)(const struct uplink_figures *figures), struct uplink_figures *figures)
{
    uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
    do {
        uplink_figures(uplink, figures);
        if (test(figures))
            return true;
        usleep(10000);
    } while (clock_monotonic_ns() < end_ns);
    return false;
}

#endif
