/* Numbers and texts as in wire/pack.h, doubles as their bits, in the file of program_kept.h. For program_kept.c and
 * program_bases.c. */
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

#endif
