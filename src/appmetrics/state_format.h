/* Numbers and texts as in model/pack.h, doubles as their bits, in the file of state.h. For state.c and
 * those files that write a part of it. */
#ifndef SONDE_APPMETRICS_STATE_FORMAT_H
#define SONDE_APPMETRICS_STATE_FORMAT_H

#include "model/program_sets.h"
#include "model/pack.h"

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

/* What a rank has counted: a function, or what went to another rank. */
#define KEPT_WHAT_MAX 256
struct kept_row {
    bool is_peer;
    char what[KEPT_WHAT_MAX];
    uint64_t values[MPI_SIZE];
    uint8_t known[MPI_SIZE];
};

/* 1, or 2 of a peer, what it is, bits of those that are known, then these; 0 ends rows. False: all are 0, and it is left out. */
static inline bool kept_add_row(struct buf *file, bool is_peer, const char *what, const uint64_t *values, const uint8_t *known)
{
    uint64_t any = 0, bits = 0;
    for (size_t i = 0; i < MPI_SIZE; i++) {
        any |= values[i];
        bits |= (uint64_t)(known[i] != 0) << i;
    }
    if (!any)
        return false;
    kept_add_number(file, is_peer ? 2 : 1);
    kept_add_text(file, bytes_of(what));
    kept_add_number(file, bits);
    for (size_t i = 0; i < MPI_SIZE; i++)
        if (known[i])
            kept_add_number(file, values[i]);
    return true;
}

/* False: there are no more, or the file is damaged. */
static inline bool kept_take_row(struct unpacker *u, struct kept_row *row)
{
    uint64_t kind = unpack_number(u);
    *row = (struct kept_row){ .is_peer = kind == 2 };
    if (!kind || u->bad)
        return false;
    u->bad |= kind > 2 || !kept_take_text(u, row->what, sizeof row->what);
    uint64_t bits = unpack_number(u);
    u->bad |= bits >> (row->is_peer ? MPI_PEER_SIZE : MPI_SIZE) != 0;
    for (size_t i = 0; i < MPI_SIZE && !u->bad; i++) {
        row->known[i] = bits >> i & 1;
        row->values[i] = row->known[i] ? unpack_number(u) : 0;
    }
    return !u->bad;
}

#endif
