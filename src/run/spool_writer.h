/* What sonde run itself appends to the spool: records are gathered while a wake-up is dealt with and written with one
 * call at its end, so that a kill -9 loses at most what was not yet read from the kernel either. */
#ifndef SONDE_RUN_SPOOL_WRITER_H
#define SONDE_RUN_SPOOL_WRITER_H

#include "spool/frame.h"

struct writer {
    int fd;
    struct buf frames;
    uint64_t lost; /* records that could not be written: disk full */
    uint64_t written; /* bytes of the file that are ours, or were there before */
};

#define WRITER_NONE (-1)   /* as fd: what is added goes nowhere */
#define WRITER_GATHER (-2) /* what is added is kept until it is moved to another writer */

/* Takes the descriptor, which must be open for appending, or one of the two above. */
void writer_init_take(struct writer *writer, int fd);

/* Gives what from has gathered to writer. */
void writer_move(struct writer *writer, struct writer *from);

/* Forgets what is gathered. */
void writer_forget(struct writer *writer);

/* Writes what is gathered. */
void writer_flush(struct writer *writer);

/* Bytes of the file that others have appended, the probes in programs. */
uint64_t writer_bytes_of_others(const struct writer *writer);

/* Flushes and closes. */
void writer_close(struct writer *writer);

/* A whole frame, as it stands in a spool. */
void writer_add_frame(struct writer *writer, struct bytes frame);

/* void writer_add_wait(struct writer *, const struct wait_record *), …: one of each kind. */
#define X(number, name, fields) void writer_add_##name(struct writer *writer, const struct name##_record *record);
RECORD_KINDS(X)
#undef X

#endif
