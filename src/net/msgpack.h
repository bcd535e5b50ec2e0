/* The part of MessagePack that we need: maps, strings, bytes, numbers, booleans. The reader accepts any well-formed input and
 * can skip unknown types. */
#ifndef SONDE_NET_MSGPACK_H
#define SONDE_NET_MSGPACK_H

#include "base/buf.h"

void msgpack_map(struct buf *out, size_t pairs);   /* followed by this many keys and values */
void msgpack_array(struct buf *out, size_t items); /* followed by this many items */
void msgpack_text(struct buf *out, struct bytes text);
void msgpack_bytes(struct buf *out, struct bytes bytes);
void msgpack_u64(struct buf *out, uint64_t value);
void msgpack_i64(struct buf *out, int64_t value);
void msgpack_f64(struct buf *out, double value);
void msgpack_flag(struct buf *out, bool value);
void msgpack_nil(struct buf *out);

/* After an error all functions return 0 or nothing. */
struct msgpack {
    const uint8_t *at, *end;
    bool bad;
};

struct msgpack msgpack_of(struct bytes bytes);
size_t msgpack_read_map(struct msgpack *in);         /* returns the number of pairs */
size_t msgpack_read_array(struct msgpack *in);       /* returns the number of items */
struct bytes msgpack_read_bytes(struct msgpack *in); /* a string or bytes; borrowed */
uint64_t msgpack_read_u64(struct msgpack *in);
int64_t msgpack_read_i64(struct msgpack *in); /* any integer that fits */
bool msgpack_is_text(const struct msgpack *in); /* the next value is a string or bytes */
bool msgpack_read_flag(struct msgpack *in);
void msgpack_skip(struct msgpack *in); /* the next value with its content */

#endif
