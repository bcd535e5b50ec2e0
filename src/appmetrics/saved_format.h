/* Numbers and strings as in model/pack.h, and doubles as their bits, in the file of saved_state.h. For the files that
 * write and read parts of it. */
#ifndef SONDE_APPMETRICS_SAVED_FORMAT_H
#define SONDE_APPMETRICS_SAVED_FORMAT_H

#include "model/program_sets.h"
#include "model/pack.h"

static inline void saved_add_number(struct buf *file, uint64_t number)
{
    uint8_t bytes[PACK_NUMBER_MAX];
    struct packer packer = { bytes, bytes + sizeof bytes, false };
    pack_number(&packer, number);
    buf_add(file, bytes, (size_t)(packer.at - bytes));
}

static inline void saved_add_string(struct buf *file, struct bytes string)
{
    saved_add_number(file, string.size);
    buf_add(file, string.data, string.size);
}

static inline void saved_add_double(struct buf *file, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    buf_add(file, &bits, sizeof bits);
}

static inline double saved_take_double(struct unpacker *u)
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
static inline bool saved_take_string(struct unpacker *u, char *string, size_t capacity)
{
    struct bytes bytes = unpack_text(u);
    if (u->bad || bytes.size >= capacity || memchr(bytes.data, '\0', bytes.size))
        return false;
    memcpy(string, bytes.data, bytes.size);
    string[bytes.size] = '\0';
    return true;
}

/* What a rank has counted of a function, or sent to a peer. */
#define SAVED_SUBJECT_MAX 256
struct saved_row {
    bool is_peer;
    char subject[SAVED_SUBJECT_MAX]; /* the function or the peer */
    uint64_t values[MPI_SIZE];
    uint8_t known[MPI_SIZE];
};

/* 1, or 2 for a peer; the subject; bits of the known values; these values. 0 ends the rows. False: all are 0, nothing
 * is added. */
static inline bool saved_add_row(struct buf *file, bool is_peer, const char *subject, const uint64_t *values,
                                 const uint8_t *known)
{
    uint64_t any = 0, bits = 0;
    for (size_t i = 0; i < MPI_SIZE; i++) {
        any |= values[i];
        bits |= (uint64_t)(known[i] != 0) << i;
    }
    if (!any)
        return false;
    saved_add_number(file, is_peer ? 2 : 1);
    saved_add_string(file, bytes_of(subject));
    saved_add_number(file, bits);
    for (size_t i = 0; i < MPI_SIZE; i++)
        if (known[i])
            saved_add_number(file, values[i]);
    return true;
}

/* False: there are no more, or the file is damaged. */
static inline bool saved_take_row(struct unpacker *u, struct saved_row *row)
{
    uint64_t kind = unpack_number(u);
    *row = (struct saved_row){ .is_peer = kind == 2 };
    if (!kind || u->bad)
        return false;
    u->bad |= kind > 2 || !saved_take_string(u, row->subject, sizeof row->subject);
    uint64_t bits = unpack_number(u);
    u->bad |= bits >> (row->is_peer ? MPI_PEER_SIZE : MPI_SIZE) != 0;
    for (size_t i = 0; i < MPI_SIZE && !u->bad; i++) {
        row->known[i] = bits >> i & 1;
        row->values[i] = row->known[i] ? unpack_number(u) : 0;
    }
    return !u->bad;
}

#endif
