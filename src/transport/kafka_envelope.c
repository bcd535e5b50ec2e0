/* One MessagePack map; unknown keys are skipped. */
#include "transport/kafka_envelope.h"

#include "net/msgpack.h"

#define PAIRS 8
#define HOST_MAX 255

void kafka_envelope_write(struct buf *out, const struct kafka_envelope *envelope)
{
    msgpack_map(out, PAIRS);
    msgpack_text(out, bytes_of("v"));
    msgpack_u64(out, KAFKA_ENVELOPE_VERSION);
    msgpack_text(out, bytes_of("host"));
    msgpack_text(out, envelope->host);
    msgpack_text(out, bytes_of("stream"));
    msgpack_u64(out, envelope->stream);
    msgpack_text(out, bytes_of("sequence"));
    msgpack_u64(out, envelope->sequence);
    msgpack_text(out, bytes_of("epoch"));
    msgpack_u64(out, envelope->epoch);
    msgpack_text(out, bytes_of("before"));
    msgpack_u64(out, envelope->before);
    msgpack_text(out, bytes_of("state"));
    msgpack_bytes(out, envelope->state);
    msgpack_text(out, bytes_of("record"));
    msgpack_bytes(out, envelope->record);
}

static bool is_key(struct bytes key, const char *name)
{
    return bytes_equal(key, bytes_of(name));
}

static void read_pair(struct msgpack *in, struct kafka_envelope *envelope, uint64_t *version)
{
    struct bytes key = msgpack_read_bytes(in);
    if (is_key(key, "v"))
        *version = msgpack_read_u64(in);
    else if (is_key(key, "host"))
        envelope->host = msgpack_read_bytes(in);
    else if (is_key(key, "stream"))
        envelope->stream = msgpack_read_u64(in);
    else if (is_key(key, "sequence"))
        envelope->sequence = msgpack_read_u64(in);
    else if (is_key(key, "epoch"))
        envelope->epoch = msgpack_read_u64(in);
    else if (is_key(key, "before"))
        envelope->before = msgpack_read_u64(in);
    else if (is_key(key, "state"))
        envelope->state = msgpack_read_bytes(in);
    else if (is_key(key, "record"))
        envelope->record = msgpack_read_bytes(in);
    else
        msgpack_skip(in);
}

static bool has_zero(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        if (!bytes.data[i])
            return true;
    return false;
}

enum err kafka_envelope_read(struct bytes bytes, struct kafka_envelope *envelope)
{
    struct msgpack in = msgpack_of(bytes);
    uint64_t version = 0;
    *envelope = (struct kafka_envelope){ 0 };
    for (size_t pairs = msgpack_read_map(&in); pairs && !in.bad; pairs--)
        read_pair(&in, envelope, &version);
    if (in.bad || !version)
        return CORRUPT;
    if (version != KAFKA_ENVELOPE_VERSION)
        return USAGE;
    bool is_whole = envelope->host.size && envelope->host.size <= HOST_MAX && !has_zero(envelope->host) && envelope->sequence
        && envelope->state.data && envelope->record.data;
    return is_whole ? OK : CORRUPT;
}
