/* The undo log of sinks/csv/files.c: what was done to files since the last commit, in the order in which it was done. Lines: "B
 * <position>": what follows was done since that position was committed; "T <size> <path>": the file was so long; "R <from>
 * <to>": it was renamed. Names have no blanks (sinks/csv/path.c sees to that). */
#ifndef SONDE_SINKS_CSV_UNDO_LOG_H
#define SONDE_SINKS_CSV_UNDO_LOG_H

#include "base/err.h"

#include <stdint.h>

/* Takes back what the log in dir says, newest first, and empties it. *position: the one that was committed; 0: none. */
enum err csv_undo_log_replay(int dir_fd, uint64_t *position);

/* Opens the log for adding; its base is the position that is committed. *fd is -1 on an error. */
enum err csv_undo_log_open(int dir_fd, uint64_t position, int *fd);
enum err csv_undo_log_add_size(int fd, const char *path, uint64_t size);
enum err csv_undo_log_add_rename(int fd, const char *from, const char *to);

/* Everything is on the disk: position holds from now on, and the log begins anew. */
enum err csv_undo_log_commit(int dir_fd, int fd, uint64_t position);

#endif
