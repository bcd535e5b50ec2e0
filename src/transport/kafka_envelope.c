/* One map; keys that are not known are skipped. */
#include "transport/kafka_envelope.h"

#include "net/msgpack.h"

#define PAIRS 8
#define HOST_MAX 255

void parcel_write(struct buf *out, const struct parcel *parcel)
{
    msgpack_map(out, PAIRS);
    msgpack_text(out, bytes_of("v"));
    msgpack_u64(out, PARCEL_VERSION);
    msgpack_text(out, bytes_of("host"));
    msgpack_text(out, parcel->host);
    msgpack_text(out, bytes_of("stream"));
    msgpack_u64(out, parcel->stream);
    msgpack_text(out, bytes_of("sequence"));
    msgpack_u64(out, parcel->sequence);
    msgpack_text(out, bytes_of("epoch"));
    msgpack_u64(out, parcel->epoch);
    msgpack_text(out, bytes_of("before"));
    msgpack_u64(out, parcel->before);
    msgpack_text(out, bytes_of("state"));
    msgpack_bytes(out, parcel->state);
    msgpack_text(out, bytes_of("record"));
    msgpack_bytes(out, parcel->record);
}

static bool is_key(struct bytes key, const char *name)
{
    return bytes_equal(key, bytes_of(name));
}

static void read_pair(struct msgpack *in, struct parcel *parcel, uint64_t *version)
{
    struct bytes key = msgpack_read_bytes(in);
    if (is_key(key, "v"))
        *version = msgpack_read_u64(in);
    else if (is_key(key, "host"))
        parcel->host = msgpack_read_bytes(in);
    else if (is_key(key, "stream"))
        parcel->stream = msgpack_read_u64(in);
    else if (is_key(key, "sequence"))
        parcel->sequence = msgpack_read_u64(in);
    else if (is_key(key, "epoch"))
        parcel->epoch = msgpack_read_u64(in);
    else if (is_key(key, "before"))
        parcel->before = msgpack_read_u64(in);
    else if (is_key(key, "state"))
        parcel->state = msgpack_read_bytes(in);
    else if (is_key(key, "record"))
        parcel->record = msgpack_read_bytes(in);
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

enum err parcel_read(struct bytes bytes, struct parcel *parcel)
{
    struct msgpack in = msgpack_of(bytes);
    uint64_t version = 0;
    *parcel = (struct parcel){ 0 };
    for (size_t pairs = msgpack_read_map(&in); pairs && !in.bad; pairs--)
        read_pair(&in, parcel, &version);
    if (in.bad || !version)
        return CORRUPT;
    if (version != PARCEL_VERSION)
        return USAGE;
    bool is_whole = parcel->host.size && parcel->host.size <= HOST_MAX && !has_zero(parcel->host) && parcel->sequence
        && parcel->state.data && parcel->record.data;
    return is_whole ? OK : CORRUPT;
}
