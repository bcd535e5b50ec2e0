/* The undo log of sinks/csv/files.c: changes to files since the last commit, in order. Lines: "B <position>": the
 * committed position that the following lines undo to; "T <size> <path>": size of the file before the change; "R
 * <from> <to>": it was renamed. Paths have no spaces (sinks/csv/path.c). */
#ifndef SONDE_SINKS_CSV_UNDO_LOG_H
#define SONDE_SINKS_CSV_UNDO_LOG_H

#include "base/err.h"

#include <stdint.h>

/* Undoes the changes in the log, newest first, and empties it. *position: the committed one; 0: none. */
enum err csv_undo_log_replay(int dir_fd, uint64_t *position);

/* Opens the log for appending; position is the committed one. *fd is -1 on an error. */
enum err csv_undo_log_open(int dir_fd, uint64_t position, int *fd);
enum err csv_undo_log_add_size(int fd, const char *path, uint64_t size);
enum err csv_undo_log_add_rename(int fd, const char *from, const char *to);

/* Call after syncing all files: stores position and starts a new log. */
enum err csv_undo_log_commit(int dir_fd, int fd, uint64_t position);

#endif
