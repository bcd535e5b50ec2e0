/* Frames of ZMTP 3.1 (RFC 37), for both sides of a connection. */
#ifndef SONDE_TRANSPORT_ZMTP_FRAME_H
#define SONDE_TRANSPORT_ZMTP_FRAME_H

#include "base/buf.h"

#define ZMTP_GREETING_BYTES 64
#define ZMTP_VERSION 3 /* major version; the minor version 1 is sent but not required, because nothing we send depends on it */
#define ZMTP_HANDSHAKE_MAX 4096 /* bytes of a command before the connection is open */

enum zmtp_flag { ZMTP_MORE = 1, ZMTP_LONG = 2, ZMTP_COMMAND = 4 };

/* Our greeting. is_server: in the CURVE handshake. */
void zmtp_frame_add_greeting(struct buf *out, const char *mechanism, bool is_server);

/* Is it a greeting of a compatible version with this mechanism? */
bool zmtp_frame_fits_greeting(const char greeting[ZMTP_GREETING_BYTES], const char *mechanism);

/* The head of a frame; its body follows. */
void zmtp_frame_add_head(struct buf *out, unsigned flags, size_t size);

/* A short command: the caller adds its body, at most 255 bytes, between the two calls. */
size_t zmtp_frame_begin_command(struct buf *out);
void zmtp_frame_end_command(struct buf *out, size_t start);

/* Sizes of the first frame of left. AGAIN: incomplete. CORRUPT: its body is larger than max. */
enum err zmtp_frame_find(struct bytes left, size_t max, size_t *head, size_t *body);

#endif
