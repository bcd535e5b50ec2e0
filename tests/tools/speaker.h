/* An agent of a test, which speaks to a receiver without any socket: HELLO, OPEN, STATE, records of one small set. */
#ifndef SONDE_TESTS_TOOLS_SPEAKER_H
#define SONDE_TESTS_TOOLS_SPEAKER_H

#include "collector/receiver.h"
#include "model/pack.h"
#include "journal/stream.h"

#include "tools/temp.h"
#include "tools/unit.h"

#define HEARD_MAX 64

static const struct metric speaker_metrics[] = {
    { "a", "1", COUNTER, U64, "" }, { "b", "B", GAUGE, U64, "" }, { "c", "1", GAUGE, F64, "" },
};
static const struct set speaker_set = { "load", speaker_metrics, 3, "device" };

struct speaker {
    const char *host, *role, *name; /* name: of its key */
    uint64_t instance, stream, number, sequence, time_ns, hello_ns, version_min;
    uint8_t id;
    bool is_gone; /* the router does not reach it */
    struct delta_stream *encoder;
    struct buf out, body, record;
    /* what was heard */
    enum message_kind heard[HEARD_MAX];
    size_t heard_count;
    uint64_t acked;
    char error[256];
};

static struct speaker *speakers[16];

static inline void speaker_init(struct speaker *speaker, uint8_t id, const char *host)
{
    *speaker = (struct speaker){
        .host = host, .role = "agent", .name = "", .instance = 1000u + id, .stream = 7000u + id, .id = id,
        .time_ns = 1000000000000, .version_min = 1,
    };
    assert_int_equal(stream_new(&speaker->encoder), OK);
    buf_init(&speaker->out, 1u << 20);
    buf_init(&speaker->body, 1u << 20);
    buf_init(&speaker->record, 1u << 20);
    speakers[id] = speaker;
}

static inline void speaker_clear(struct speaker *speaker)
{
    stream_free(&speaker->encoder);
    buf_clear(&speaker->out);
    buf_clear(&speaker->body);
    buf_clear(&speaker->record);
    speakers[speaker->id] = NULL;
}

/* As the receiver's send. */
static inline enum err speaker_hear(void *context, const struct zmq_peer *peer, struct bytes bytes)
{
    (void)context;
    struct speaker *speaker = speakers[peer->id[0]];
    struct message message;
    struct message_refuse refuse;
    struct buf plain;
    if (!speaker || speaker->is_gone)
        return GONE;
    buf_init(&plain, 1u << 20);
    assert_int_equal(message_read(bytes, &message, &plain), OK);
    if (speaker->heard_count < HEARD_MAX)
        speaker->heard[speaker->heard_count++] = message.kind;
    const uint8_t *body = (const uint8_t *)message.body.data;
    struct unpacker unpacker = { body, body + message.body.size, false };
    if (message.kind == MESSAGE_ACK)
        speaker->acked = unpack_number(&unpacker);
    if (message.kind == MESSAGE_REFUSE && !message_read_refuse(message.body, &refuse))
        snprintf(speaker->error, sizeof speaker->error, "%.*s", (int)refuse.error.size, refuse.error.data);
    buf_clear(&plain);
    return OK;
}

static inline bool has_heard(const struct speaker *speaker, enum message_kind kind)
{
    for (size_t i = 0; i < speaker->heard_count; i++)
        if (speaker->heard[i] == kind)
            return true;
    return false;
}

static inline struct zmq_peer peer_of(const struct speaker *speaker)
{
    struct zmq_peer peer = { .id = { speaker->id }, .id_size = 1 };
    snprintf(peer.name, sizeof peer.name, "%s", speaker->name);
    snprintf(peer.address, sizeof peer.address, "10.0.0.%u", speaker->id);
    return peer;
}

/* From body. */
static inline void speak(struct receiver *receiver, struct speaker *speaker, enum message_kind kind)
{
    struct message message = { MESSAGE_VERSION, kind, ++speaker->number, { speaker->body.data, speaker->body.size } };
    struct zmq_peer peer = peer_of(speaker);
    buf_reset(&speaker->out);
    message_write(&speaker->out, &message, false);
    receiver_handle(receiver, &peer, (struct bytes){ speaker->out.data, speaker->out.size });
    buf_reset(&speaker->body);
}

static inline void say_hello(struct receiver *receiver, struct speaker *speaker)
{
    struct message_hello hello = {
        .host = bytes_of(speaker->host), .software = bytes_of("test"), .version_min = speaker->version_min,
        .version_max = speaker->version_min, .role = bytes_of(speaker->role), .instance = speaker->instance,
        .time_ns = speaker->hello_ns,
    };
    speaker->number = 0;
    message_write_hello(&speaker->body, &hello);
    speak(receiver, speaker, MESSAGE_HELLO);
}

static inline void add_number(struct buf *out, uint64_t number)
{
    uint8_t capacity[PACK_NUMBER_MAX];
    struct packer packer = { capacity, capacity + sizeof capacity, false };
    pack_number(&packer, number);
    buf_add(out, capacity, (size_t)(packer.at - capacity));
}

static inline void say_open_for(struct receiver *receiver, struct speaker *speaker, const char *host)
{
    message_write_open(&speaker->body, &(struct message_open){ 0, bytes_of(host), speaker->stream });
    speak(receiver, speaker, MESSAGE_OPEN);
}

static inline void say_state(struct receiver *receiver, struct speaker *speaker)
{
    add_number(&speaker->body, 0);
    stream_snapshot(speaker->encoder, &speaker->body);
    speak(receiver, speaker, MESSAGE_STATE);
}

/* A record of one sample whose values tell the sequence; it is kept, so that it can be sent again. */
static inline void make_record(struct speaker *speaker)
{
    struct batch batch;
    batch_init(&batch);
    speaker->sequence++;
    speaker->time_ns += 1000000000;
    struct sample *sample = batch_add(&batch, &speaker_set, speaker->time_ns, "eth0");
    sample_set_u64(sample, 0, speaker->sequence);
    sample_set_u64(sample, 1, 4096);
    buf_reset(&speaker->record);
    assert_int_equal(stream_encode(speaker->encoder, &batch, &speaker->record), OK);
    batch_clear(&batch);
}

static inline void say_record(struct receiver *receiver, struct speaker *speaker, uint64_t sequence)
{
    add_number(&speaker->body, 0);
    add_number(&speaker->body, sequence);
    buf_add(&speaker->body, speaker->record.data, speaker->record.size);
    speak(receiver, speaker, MESSAGE_RECORD);
}

static inline void say_next(struct receiver *receiver, struct speaker *speaker)
{
    make_record(speaker);
    say_record(receiver, speaker, speaker->sequence);
}

static inline void begin_speaking(struct receiver *receiver, struct speaker *speaker)
{
    say_hello(receiver, speaker);
    say_open_for(receiver, speaker, speaker->host);
    say_state(receiver, speaker);
}

#endif
