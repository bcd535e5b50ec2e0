/* Numbers and texts as in wire/pack.h, doubles as their bits, in the file of program_kept.h. For program_kept.c and
 * those files that write a part of it. */
#ifndef SONDE_PROGRAMS_KEPT_PACK_H
#define SONDE_PROGRAMS_KEPT_PACK_H

#include "wire/pack.h"

static inline void kept_add_number(struct buf *file, uint64_t number)
{
    uint8_t room[PACK_NUMBER_MAX];
    struct packer packer = { room, room + sizeof room, false };
    pack_number(&packer, number);
    buf_add(file, room, (size_t)(packer.at - room));
}

static inline void kept_add_text(struct buf *file, struct bytes text)
{
    kept_add_number(file, text.size);
    buf_add(file, text.data, text.size);
}

static inline void kept_add_double(struct buf *file, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    buf_add(file, &bits, sizeof bits);
}

static inline double kept_take_double(struct unpacker *u)
{
    double value = 0;
    if (u->bad || (size_t)(u->end - u->at) < sizeof value) {
        u->bad = true;
        return 0;
    }
    memcpy(&value, u->at, sizeof value);
    u->at += sizeof value;
    return value;
}

/* False: it is damaged, or does not fit. */
static inline bool kept_take_text(struct unpacker *u, char *text, size_t room)
{
    struct bytes bytes = unpack_text(u);
    if (u->bad || bytes.size >= room || memchr(bytes.data, '\0', bytes.size))
        return false;
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return true;
}

/* Bits of those that are known, then these. */
static inline void kept_add_values(struct buf *file, const uint64_t *values, const uint8_t *known, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= (uint64_t)(known[i] != 0) << i;
    kept_add_number(file, bits);
    for (size_t i = 0; i < count; i++)
        if (known[i])
            kept_add_number(file, values[i]);
}

static inline void kept_take_values(struct unpacker *u, uint64_t *values, uint8_t *known, size_t count)
{
    uint64_t bits = unpack_number(u);
    u->bad |= bits >> count != 0;
    for (size_t i = 0; i < count && !u->bad; i++) {
        known[i] = bits >> i & 1;
        values[i] = known[i] ? unpack_number(u) : 0;
    }
}

#endif
