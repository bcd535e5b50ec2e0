/* The metrics segments of the command and its descendants: in a directory of their own ($SONDE_BOARDS), read at each
 * tick and at the end into samples for the spool. */
#ifndef SONDE_RUN_RUN_SEGMENTS_H
#define SONDE_RUN_RUN_SEGMENTS_H

#include "model/batch.h"
#include "appmetrics/segment_dir.h"

#include <stdbool.h>

/* Zero-initialised: none. */
struct run_segments {
    struct registry *registry; /* NULL: the directory could not be created, or is not needed */
    struct segments *segments;
    char dir[SEGMENT_DIR_PATH_MAX];
    int lock_fd;
    bool calls_are_counted; /* system calls are counted by other means: what programs report is part of that */
};

/* Creates the directory. spool: path of the run's spool, for run_segments_recover. */
enum err run_segments_open(struct run_segments *segments, const char *spool);

/* NULL: none. */
const char *run_segments_dir(const struct run_segments *segments);

/* Adds samples of what has changed; they are valid until the next call. */
void run_segments_read(struct run_segments *segments, struct batch *out);

/* Removes the directory, except for segments that an agent has not read yet: the agent removes these. */
void run_segments_close(struct run_segments *segments);

/* Recovers the segments of this user's killed runs into their spools, if these still exist, and removes them, or
 * leaves them to the agent as above. For sonde submit. */
void run_segments_recover(void);

#endif
