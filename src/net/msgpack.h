/* The part of MessagePack that we need: maps, texts, bytes, numbers, flags. A reader takes any well-formed input and skips
 * what it does not know. */
#ifndef SONDE_NET_MSGPACK_H
#define SONDE_NET_MSGPACK_H

#include "base/buf.h"

void msgpack_map(struct buf *out, size_t pairs);   /* that many keys and values follow */
void msgpack_array(struct buf *out, size_t items); /* that many items follow */
void msgpack_text(struct buf *out, struct bytes text);
void msgpack_bytes(struct buf *out, struct bytes bytes);
void msgpack_u64(struct buf *out, uint64_t value);
void msgpack_i64(struct buf *out, int64_t value);
void msgpack_f64(struct buf *out, double value);
void msgpack_flag(struct buf *out, bool value);
void msgpack_nil(struct buf *out);

/* Once wrong, it only remembers that and gives nothing. */
struct msgpack {
    const uint8_t *at, *end;
    bool bad;
};

struct msgpack msgpack_of(struct bytes bytes);
size_t msgpack_read_map(struct msgpack *in);         /* how many pairs follow */
size_t msgpack_read_array(struct msgpack *in);       /* how many items follow */
struct bytes msgpack_read_bytes(struct msgpack *in); /* a text or bytes; borrowed */
uint64_t msgpack_read_u64(struct msgpack *in);
int64_t msgpack_read_i64(struct msgpack *in); /* a whole number of any sign that fits */
bool msgpack_is_text(const struct msgpack *in); /* what comes next, read or not, is a text or bytes */
bool msgpack_read_flag(struct msgpack *in);
void msgpack_skip(struct msgpack *in); /* whatever comes next, with all that is in it */

#endif
