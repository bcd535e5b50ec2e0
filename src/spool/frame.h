/* A record in its frame, as it stands in the spool. Writers append with one write(2) to a file opened with O_APPEND, so
 * that records of many processes never mix. The checksum finds records that were cut short by a full disk; the magic
 * lets a reader go on behind them.
 *
 *   offset 0  u32 magic    4  u32 size of the body in bytes    8  u32 check    12  u8 kind    13  u8[3] zero
 *   offset 16 body, then zeros up to a multiple of 8. All little-endian. */
#ifndef SONDE_SPOOL_FRAME_H
#define SONDE_SPOOL_FRAME_H

#include "spool/record.h"

#define FRAME_MAGIC 0x53646e53u /* "SndS" */
#define FRAME_HEAD 16
#define FRAME_BODY_MAX (16u << 20) /* arguments and environment of Linux stay below 6 MB */

/* Fills in the head of a frame whose body of body_size bytes stands at frame + FRAME_HEAD; writes the zeros behind it,
 * for which there must be 7 bytes of room. Returns the size of the whole frame. */
size_t frame_finish(uint8_t *frame, enum record_kind kind, size_t body_size);

/* Looks at the bytes at the start of rest. OK: *kind, *body (borrowed) and *size (to skip) are set.
 * AGAIN: the frame is not whole (yet). CORRUPT: *size bytes are to be skipped to come to the next possible frame. */
enum err frame_read(struct bytes rest, enum record_kind *kind, struct bytes *body, size_t *size);

#endif
