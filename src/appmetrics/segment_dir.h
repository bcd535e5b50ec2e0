/* A dir with boards: /dev/shm, or that of one sonde run. Made, watched and cleared away so that a link that somebody plants
 * leads nowhere. For segments.c and run/run_segments.c. */
#ifndef SONDE_APPMETRICS_SEGMENT_DIR_H
#define SONDE_APPMETRICS_SEGMENT_DIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_DIR_PATH_MAX 512
#define SEGMENT_DIR_LOCK "run" /* in the dir of a run, which holds a lock on it */

struct segment_dir {
    char path[SEGMENT_DIR_PATH_MAX];
    int fd, watch;  /* of inotify; -1: none */
    bool is_run;    /* somebody else's run reads and removes them, until it is over */
    uint32_t uid;   /* whose it is */
    size_t segments; /* that are known in it */
    uint64_t over_ns; /* CLOCK_MONOTONIC: when its run was first found gone; 0: not yet */
    struct segment_dir *next;
};

/* run_name: of a run's dir, "sonde-run.<uid>.<random>", which must be that user's; NULL: any dir. ABSENT, DENIED, NOMEM. */
enum err segment_dir_open(struct segment_dir **dir, const char *path, const char *run_name, int inotify_fd);

/* Takes the dir out of the list that *dir stands in. inotify_fd -1: it is not watched any more anyway. */
void segment_dir_close(struct segment_dir **dir, int inotify_fd);

/* Removes a segment that was read to its end, if it still is that file. Where another agent reads it too, that of root or that of
 * its user, who is ready first marks it, and the other one removes it; so does a run whose dir it is. claim_fd: our own
 * claim; -1: we are that run. */
void segment_dir_remove(const struct segment_dir *dir, const char *name, uint64_t inode, int claim_fd);

/* Is it one that we have marked so? Then it is not to be read again; it is removed if the other one has gone, or has left root
 * waiting for a minute. */
bool segment_dir_was_read(const struct segment_dir *dir, const char *name);

/* Is it for an agent of ours that has those alone which name its socket? Not for us then, who read all others. */
bool segment_dir_is_of_other_agent(const struct segment_dir *dir, const char *name);

/* For a run, of a segment in its own dir: is there an agent that has not read it to its end? */
bool segment_dir_is_wanted(const struct segment_dir *dir, const char *name);

/* True when the run is gone and the dir with it. Ten minutes after a run was killed the dir is cleared away: until then
 * sonde submit may want it. */
bool segment_dir_is_over(struct segment_dir *dir);

/* No run holds the dir, which is one of a run. */
bool segment_dir_is_abandoned(const struct segment_dir *dir);

/* Makes the dir of a run, and holds its lock (*lock_fd; -1 where it fails). */
enum err segment_dir_create(const char *parent, char path[SEGMENT_DIR_PATH_MAX], int *lock_fd);

/* Removes a run's dir with everything in it. */
void segment_dir_delete(const char *path);

/* The same at the end of a run, but for boards that an agent wants: it reads them, and removes them and the dir. */
void segment_dir_release(const char *path);

#endif
