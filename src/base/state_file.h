/* A small file in which a program keeps what it needs when it is started anew: replaced as a whole, and nobody else's, also in a
 * folder that everybody may write to. */
#ifndef SONDE_BASE_STATE_FILE_H
#define SONDE_BASE_STATE_FILE_H

#include "base/buf.h"

#define STATE_FILE_MAX (256u << 20)

/* FULL: the buffer could not take it all, or the path is too long. */
enum err state_file_write(const char *path, const struct buf *file);

/* Adds it to file. ABSENT: there is none of our user's. */
enum err state_file_read(const char *path, struct buf *file);

/* Which start of the machine this is; "" where nobody says. */
#define STATE_FILE_BOOT_ID_MAX 64
void state_file_boot_id(char boot[STATE_FILE_BOOT_ID_MAX]);

#endif
