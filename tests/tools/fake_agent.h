/* An agent for tests that sends messages to a receiver without a socket: HELLO, OPEN, STATE, records of one small set. */
#ifndef SONDE_TESTS_TOOLS_FAKE_AGENT_H
#define SONDE_TESTS_TOOLS_FAKE_AGENT_H

#include "collector/receiver.h"
#include "model/pack.h"
#include "journal/stream.h"

#include "tools/temp.h"
#include "tools/unit.h"

#define RECEIVED_MAX 64

static const struct metric fake_agent_metrics[] = {
    { "a", "1", COUNTER, U64, "" }, { "b", "B", GAUGE, U64, "" }, { "c", "1", GAUGE, F64, "" },
};
static const struct set fake_agent_set = { "load", fake_agent_metrics, 3, "device" };

struct fake_agent {
    const char *host, *role, *name; /* name: of its key */
    uint64_t instance, stream, number, sequence, time_ns, hello_ns, version_min;
    uint8_t id;
    bool is_gone; /* the router cannot reach it */
    struct delta_stream *encoder;
    struct buf out, body, record;
    /* received messages */
    enum message_kind received[RECEIVED_MAX];
    size_t received_count;
    uint64_t acked;
    char error[256];
};

static struct fake_agent *fake_agents[16];

static inline void fake_agent_init(struct fake_agent *agent, uint8_t id, const char *host)
{
    *agent = (struct fake_agent){
        .host = host, .role = "agent", .name = "", .instance = 1000u + id, .stream = 7000u + id, .id = id,
        .time_ns = 1000000000000, .version_min = 1,
    };
    caller_assert_int_equal(stream_new(&agent->encoder), OK);
    buf_init(&agent->out, 1u << 20);
    buf_init(&agent->body, 1u << 20);
    buf_init(&agent->record, 1u << 20);
    fake_agents[id] = agent;
}
#define fake_agent_init(...) (unit_called(__FILE__, __LINE__), (fake_agent_init)(__VA_ARGS__))

static inline void fake_agent_clear(struct fake_agent *agent)
{
    stream_free(&agent->encoder);
    buf_clear(&agent->out);
    buf_clear(&agent->body);
    buf_clear(&agent->record);
    fake_agents[agent->id] = NULL;
}

/* The receiver's send callback. */
static inline enum err fake_agent_receive(void *context, const struct zmq_peer *peer, struct bytes bytes)
{
    (void)context;
    struct fake_agent *agent = fake_agents[peer->id[0]];
    struct message message;
    struct message_refuse refuse;
    struct buf plain;
    if (!agent || agent->is_gone)
        return GONE;
    buf_init(&plain, 1u << 20);
    caller_assert_int_equal(message_read(bytes, &message, &plain), OK);
    if (agent->received_count < RECEIVED_MAX)
        agent->received[agent->received_count++] = message.kind;
    const uint8_t *body = (const uint8_t *)message.body.data;
    struct unpacker unpacker = { body, body + message.body.size, false };
    if (message.kind == MESSAGE_ACK)
        agent->acked = unpack_number(&unpacker);
    if (message.kind == MESSAGE_REFUSE && !message_read_refuse(message.body, &refuse))
        snprintf(agent->error, sizeof agent->error, "%.*s", (int)refuse.error.size, refuse.error.data);
    buf_clear(&plain);
    return OK;
}
#define fake_agent_receive(...) (unit_called(__FILE__, __LINE__), (fake_agent_receive)(__VA_ARGS__))

static inline bool has_received(const struct fake_agent *agent, enum message_kind kind)
{
    for (size_t i = 0; i < agent->received_count; i++)
        if (agent->received[i] == kind)
            return true;
    return false;
}

static inline struct zmq_peer peer_of(const struct fake_agent *agent)
{
    struct zmq_peer peer = { .id = { agent->id }, .id_size = 1 };
    snprintf(peer.name, sizeof peer.name, "%s", agent->name);
    snprintf(peer.address, sizeof peer.address, "10.0.0.%u", agent->id);
    return peer;
}

/* Sends body. */
static inline void send_message(struct receiver *receiver, struct fake_agent *agent, enum message_kind kind)
{
    struct message message = { MESSAGE_VERSION, kind, ++agent->number, { agent->body.data, agent->body.size } };
    struct zmq_peer peer = peer_of(agent);
    buf_reset(&agent->out);
    message_write(&agent->out, &message, false);
    receiver_handle(receiver, &peer, (struct bytes){ agent->out.data, agent->out.size });
    buf_reset(&agent->body);
}

static inline void send_hello(struct receiver *receiver, struct fake_agent *agent)
{
    struct message_hello hello = {
        .host = bytes_of(agent->host), .software = bytes_of("test"), .version_min = agent->version_min,
        .version_max = agent->version_min, .role = bytes_of(agent->role), .instance = agent->instance,
        .time_ns = agent->hello_ns,
    };
    agent->number = 0;
    message_write_hello(&agent->body, &hello);
    send_message(receiver, agent, MESSAGE_HELLO);
}

static inline void add_number(struct buf *out, uint64_t number)
{
    uint8_t bytes[PACK_NUMBER_MAX];
    struct packer packer = { bytes, bytes + sizeof bytes, false };
    pack_number(&packer, number);
    buf_add(out, bytes, (size_t)(packer.at - bytes));
}

static inline void send_open_for(struct receiver *receiver, struct fake_agent *agent, const char *host)
{
    message_write_open(&agent->body, &(struct message_open){ 0, bytes_of(host), agent->stream });
    send_message(receiver, agent, MESSAGE_OPEN);
}

static inline void send_state(struct receiver *receiver, struct fake_agent *agent)
{
    add_number(&agent->body, 0);
    stream_snapshot(agent->encoder, &agent->body);
    send_message(receiver, agent, MESSAGE_STATE);
}

/* A record with one sample whose values are the sequence number; kept, so that it can be sent again. */
static inline void encode_record(struct fake_agent *agent)
{
    struct batch batch;
    batch_init(&batch);
    agent->sequence++;
    agent->time_ns += 1000000000;
    struct sample *sample = batch_add(&batch, &fake_agent_set, agent->time_ns, "eth0");
    sample_set_u64(sample, 0, agent->sequence);
    sample_set_u64(sample, 1, 4096);
    buf_reset(&agent->record);
    caller_assert_int_equal(stream_encode(agent->encoder, &batch, &agent->record), OK);
    batch_clear(&batch);
}
#define encode_record(...) (unit_called(__FILE__, __LINE__), (encode_record)(__VA_ARGS__))

static inline void send_record(struct receiver *receiver, struct fake_agent *agent, uint64_t sequence)
{
    add_number(&agent->body, 0);
    add_number(&agent->body, sequence);
    buf_add(&agent->body, agent->record.data, agent->record.size);
    send_message(receiver, agent, MESSAGE_RECORD);
}

static inline void send_next(struct receiver *receiver, struct fake_agent *agent)
{
    encode_record(agent);
    send_record(receiver, agent, agent->sequence);
}

static inline void connect_agent(struct receiver *receiver, struct fake_agent *agent)
{
    send_hello(receiver, agent);
    send_open_for(receiver, agent, agent->host);
    send_state(receiver, agent);
}

#endif
