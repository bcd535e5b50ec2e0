/* The frame of a record in the spool. Writers append a frame with one write(2) to a file opened with O_APPEND, so that records
 * of many processes are never interleaved. The checksum detects records that were truncated by a full disk; the magic number
 * lets a reader find the next one.
 *
 *   offset 0  u32 magic    4  u32 size of the body in bytes    8  u32 checksum    12  u8 kind    13  u8[3] zero
 *   offset 16 body, then zeros up to a multiple of 8. All little-endian. */
#ifndef SONDE_SPOOL_FRAME_H
#define SONDE_SPOOL_FRAME_H

#include "spool/record.h"

#define FRAME_MAGIC 0x53646e53u /* "SndS" */
#define FRAME_HEAD 16
#define FRAME_BODY_MAX (16u << 20) /* arguments and environment on Linux are below 6 MB */

/* Writes the head of a frame whose body is at frame + FRAME_HEAD, and the padding after the body, which needs up to 7 bytes.
 * Returns the size of the frame. */
size_t frame_finish(uint8_t *frame, enum record_kind kind, size_t body_size);

/* Reads the frame at the start of rest. OK: sets *kind, *body (borrowed) and *size, the bytes of the frame. AGAIN: the frame is
 * incomplete. CORRUPT: *size is the distance to the next possible frame. */
enum err frame_read(struct bytes rest, enum record_kind *kind, struct bytes *body, size_t *size);

#endif
