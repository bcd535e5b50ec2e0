/* The first bytes are listed at https://github.com/msgpack/msgpack/blob/master/spec.md. */
#include "net/msgpack.h"

#include <string.h>

/* A first byte and a big-endian number. */
static void put(struct buf *out, uint8_t first, uint64_t number, size_t size)
{
    char bytes[9] = { (char)first };
    for (size_t i = 0; i < size; i++)
        bytes[size - i] = (char)(number >> 8 * i);
    buf_add(out, bytes, size + 1);
}

static void put_sized(struct buf *out, uint8_t first, uint64_t number)
{
    if (number <= UINT8_MAX)
        put(out, first, number, 1);
    else if (number <= UINT16_MAX)
        put(out, first + 1, number, 2);
    else
        put(out, first + 2, number, 4);
}

void msgpack_map(struct buf *out, size_t pairs)
{
    if (pairs < 16)
        put(out, (uint8_t)(0x80 | pairs), 0, 0);
    else
        put(out, pairs <= UINT16_MAX ? 0xde : 0xdf, pairs, pairs <= UINT16_MAX ? 2 : 4);
}

void msgpack_array(struct buf *out, size_t items)
{
    if (items < 16)
        put(out, (uint8_t)(0x90 | items), 0, 0);
    else
        put(out, items <= UINT16_MAX ? 0xdc : 0xdd, items, items <= UINT16_MAX ? 2 : 4);
}

void msgpack_text(struct buf *out, struct bytes text)
{
    if (text.size < 32)
        put(out, (uint8_t)(0xa0 | text.size), 0, 0);
    else
        put_sized(out, 0xd9, text.size);
    buf_add(out, text.data, text.size);
}

void msgpack_bytes(struct buf *out, struct bytes bytes)
{
    put_sized(out, 0xc4, bytes.size);
    buf_add(out, bytes.data, bytes.size);
}

void msgpack_u64(struct buf *out, uint64_t value)
{
    if (value < 128)
        put(out, (uint8_t)value, 0, 0);
    else if (value <= UINT32_MAX)
        put_sized(out, 0xcc, value);
    else
        put(out, 0xcf, value, 8);
}

void msgpack_i64(struct buf *out, int64_t value)
{
    if (value >= 0)
        msgpack_u64(out, (uint64_t)value);
    else if (value >= -32)
        put(out, (uint8_t)value, 0, 0);
    else
        put(out, 0xd3, (uint64_t)value, 8);
}

void msgpack_f64(struct buf *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(out, 0xcb, bits, 8);
}

void msgpack_flag(struct buf *out, bool value)
{
    put(out, value ? 0xc3 : 0xc2, 0, 0);
}

void msgpack_nil(struct buf *out)
{
    put(out, 0xc0, 0, 0);
}

struct msgpack msgpack_of(struct bytes bytes)
{
    return (struct msgpack){ (const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.size, false };
}

static uint64_t take(struct msgpack *in, size_t size)
{
    uint64_t number = 0;
    if ((size_t)(in->end - in->at) < size)
        in->bad = true;
    for (size_t i = 0; i < size && !in->bad; i++)
        number = number << 8 | *in->at++;
    return number;
}

static uint64_t wrong(struct msgpack *in)
{
    in->bad = true;
    return 0;
}

size_t msgpack_read_map(struct msgpack *in)
{
    uint64_t first = take(in, 1), pairs;
    if (in->bad)
        return 0;
    if ((first & 0xf0) == 0x80)
        pairs = first & 0xf;
    else if (first == 0xde || first == 0xdf)
        pairs = take(in, first == 0xde ? 2 : 4);
    else
        pairs = wrong(in);
    return in->bad ? 0 : (size_t)pairs;
}

size_t msgpack_read_array(struct msgpack *in)
{
    uint64_t first = take(in, 1), items;
    if (in->bad)
        return 0;
    if ((first & 0xf0) == 0x90)
        items = first & 0xf;
    else if (first == 0xdc || first == 0xdd)
        items = take(in, first == 0xdc ? 2 : 4);
    else
        items = wrong(in);
    return in->bad ? 0 : (size_t)items;
}

struct bytes msgpack_read_bytes(struct msgpack *in)
{
    uint64_t first = take(in, 1), size = 0;
    if (!in->bad && (first & 0xe0) == 0xa0)
        size = first & 0x1f;
    else if (first >= 0xd9 && first <= 0xdb)
        size = take(in, (size_t)1 << (first - 0xd9));
    else if (first >= 0xc4 && first <= 0xc6)
        size = take(in, (size_t)1 << (first - 0xc4));
    else
        wrong(in);
    if (in->bad || size > (uint64_t)(in->end - in->at)) {
        in->bad = true;
        return (struct bytes){ 0 };
    }
    struct bytes bytes = { (const char *)in->at, (size_t)size };
    in->at += size;
    return bytes;
}

uint64_t msgpack_read_u64(struct msgpack *in)
{
    uint64_t first = take(in, 1);
    if (in->bad || first < 0x80)
        return in->bad ? 0 : first;
    return first >= 0xcc && first <= 0xcf ? take(in, (size_t)1 << (first - 0xcc)) : wrong(in);
}

int64_t msgpack_read_i64(struct msgpack *in)
{
    if (in->bad)
        return 0;
    if (in->at < in->end && *in->at >= 0xe0)
        return (int8_t)take(in, 1);
    if (in->at < in->end && *in->at >= 0xd0 && *in->at <= 0xd3) {
        size_t size = (size_t)1 << (take(in, 1) - 0xd0);
        uint64_t number = take(in, size), sign = 1ull << (8 * size - 1);
        return (int64_t)((number ^ sign) - sign);
    }
    uint64_t number = msgpack_read_u64(in);
    return number > INT64_MAX ? (int64_t)wrong(in) : (int64_t)number;
}

bool msgpack_is_text(const struct msgpack *in)
{
    uint8_t first = in->at < in->end ? *in->at : 0;
    return (first & 0xe0) == 0xa0 || (first >= 0xd9 && first <= 0xdb) || (first >= 0xc4 && first <= 0xc6);
}

bool msgpack_read_flag(struct msgpack *in)
{
    uint64_t first = take(in, 1);
    return first == 0xc2 || first == 0xc3 ? first == 0xc3 : wrong(in);
}

/* Bytes that follow a first byte of this group without being items; *items: the number of items that follow. */
static uint64_t behind(struct msgpack *in, uint64_t first, uint64_t *items)
{
    static const uint8_t sizes[] = { /* from 0xc0; 255: see below */
        0, 255, 0, 0, 255, 255, 255, 255, 255, 255, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17, 255, 255, 255, 255, 255,
        255, 255,
    };
    *items = 0;
    if (first < 0x80 || first >= 0xe0)
        return 0;
    if (first < 0xa0) {
        *items = (first & 0xf) * (first < 0x90 ? 2 : 1);
        return 0;
    }
    if (first < 0xc0)
        return first & 0x1f;
    if (sizes[first - 0xc0] != 255)
        return sizes[first - 0xc0];
    if (first >= 0xdc) {
        *items = take(in, first & 1 ? 4 : 2) * (first >= 0xde ? 2 : 1);
        return 0;
    }
    if (first == 0xc1)
        return wrong(in);
    if (first >= 0xd9)
        return take(in, (size_t)1 << (first - 0xd9));
    if (first >= 0xc7) /* an extension also has a type */
        return take(in, (size_t)1 << (first - 0xc7)) + 1;
    return take(in, (size_t)1 << (first - 0xc4));
}

/* Counts pending items instead of recursing, so that depth costs nothing. */
void msgpack_skip(struct msgpack *in)
{
    for (uint64_t left = 1; left && !in->bad; left--) {
        uint64_t items, first = take(in, 1), size = in->bad ? 0 : behind(in, first, &items);
        if (in->bad || size > (uint64_t)(in->end - in->at)) {
            in->bad = true;
            return;
        }
        in->at += size;
        left += items;
        if (left > (uint64_t)(in->end - in->at) + 1) /* each takes at least a byte */
            in->bad = true;
    }
}
