/* A small file with the state that a daemon needs after a restart. It is replaced atomically, and files of other users are
 * ignored, so that it can be in a world-writable directory. */
#ifndef SONDE_BASE_STATE_FILE_H
#define SONDE_BASE_STATE_FILE_H

#include "base/buf.h"

#define STATE_FILE_MAX (256u << 20)

/* FULL: the buffer is incomplete, or the path is too long. */
enum err state_file_write(const char *path, const struct buf *file);

/* Appends its content to file. ABSENT: there is none that belongs to our user. */
enum err state_file_read(const char *path, struct buf *file);

/* The boot id of the kernel; "": unknown. */
#define STATE_FILE_BOOT_ID_MAX 64
void state_file_boot_id(char boot[STATE_FILE_BOOT_ID_MAX]);

#endif
