/* Appends sonde run's own records to the spool. They are buffered while the loop handles a wake-up, and written with
 * one call at its end, so that kill -9 loses no more than what was still unread in the kernel. */
#ifndef SONDE_RUN_SPOOL_WRITER_H
#define SONDE_RUN_SPOOL_WRITER_H

#include "spool/frame.h"

struct spool_writer {
    int fd;
    struct buf frames;
    uint64_t lost; /* records that could not be written: disk full */
    uint64_t written; /* bytes of the file that we wrote, or that were there before */
};

#define SPOOL_WRITER_NONE (-1)   /* as fd: discards all records */
#define SPOOL_WRITER_BUFFER (-2) /* as fd: keeps records until they are moved to another writer */

/* Takes ownership of the descriptor, which must be open for appending, or one of the two above. */
void spool_writer_init_take(struct spool_writer *writer, int fd);

/* Moves the buffered records of `from` to writer. */
void spool_writer_move(struct spool_writer *writer, struct spool_writer *from);

/* Discards buffered records. */
void spool_writer_discard(struct spool_writer *writer);

/* Writes buffered records. */
void spool_writer_flush(struct spool_writer *writer);

/* Bytes that others (the probes) have appended to the file. */
uint64_t spool_writer_foreign_bytes(const struct spool_writer *writer);

/* Flushes and closes. */
void spool_writer_close(struct spool_writer *writer);

/* Adds a complete frame, as stored in a spool. */
void spool_writer_add_frame(struct spool_writer *writer, struct bytes frame);

/* void spool_writer_add_wait(struct spool_writer *, const struct wait_record *), …: one for each kind. */
#define X(number, name, fields) void spool_writer_add_##name(struct spool_writer *writer, const struct name##_record *record);
RECORD_KINDS(X)
#undef X

#endif
