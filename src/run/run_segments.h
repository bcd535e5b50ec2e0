/* The boards of sonde run's command and of all that it starts: a folder of their own ($SONDE_BOARDS), read at each tick and at
 * the end into samples for the spool. */
#ifndef SONDE_RUN_RUN_SEGMENTS_H
#define SONDE_RUN_RUN_SEGMENTS_H

#include "model/batch.h"
#include "appmetrics/segment_dir.h"

#include <stdbool.h>

/* Zeroed: there are none. */
struct run_boards {
    struct program_table *table; /* NULL: no folder could be made, or nobody wanted one */
    struct program_boards *boards;
    char folder[BOARD_FOLDER_PATH_MAX];
    int lock_fd;
    bool calls_are_counted; /* somebody else counts the system calls: what programs say of them is a part of that */
};

/* Makes the folder. spool: the path of the run's, for run_boards_rescue. */
enum err run_boards_open(struct run_boards *boards, const char *spool);

/* NULL: none. */
const char *run_boards_folder(const struct run_boards *boards);

/* Adds what has changed; the samples borrow until the next call on boards. */
void run_boards_read(struct run_boards *boards, struct batch *out);

/* Removes the folder with what is in it, but for boards that an agent has not read yet: these are the agent's then. */
void run_boards_close(struct run_boards *boards);

/* What runs of this user that were killed have left on boards goes into their spools, if these are still there, and the boards
 * are removed, or are the agent's as above. For sonde submit. */
void run_boards_rescue(void);

#endif
