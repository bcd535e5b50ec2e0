/* A directory with metrics segments: /dev/shm, or that of one sonde run. Other users can write to its parent:
 * everything is done so that a symbolic link which somebody plants has no effect. For segments.c and
 * run/run_segments.c. */
#ifndef SONDE_APPMETRICS_SEGMENT_DIR_H
#define SONDE_APPMETRICS_SEGMENT_DIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_DIR_PATH_MAX 512
#define SEGMENT_DIR_LOCK "run" /* in the directory of a run, which holds a lock on it */

struct segment_dir {
    char path[SEGMENT_DIR_PATH_MAX];
    int fd, watch;     /* of inotify; -1: none */
    bool is_run;       /* of a sonde run, which reads and removes its segments until it ends */
    uint32_t uid;      /* of the owner */
    size_t segments;   /* that are known in it */
    uint64_t over_ns;  /* CLOCK_MONOTONIC: when the run was first found to have ended; 0: not yet */
    struct segment_dir *next;
};

/* run_name: "sonde-run.<uid>.<random>" for the directory of a run, which must belong to that user; NULL: any
 * directory. ABSENT, DENIED, NOMEM. */
enum err segment_dir_open(struct segment_dir **dir, const char *path, const char *run_name, int inotify_fd);

/* Takes the directory out of the list that it is in. inotify_fd -1: it need not be removed there. */
void segment_dir_close(struct segment_dir **dir, int inotify_fd);

/* Removes a segment that was read to its end, if it is still the same file. If another agent reads it too (that of
 * root or that of its user), or a run, the first one to finish marks it and the other one removes it. claim_fd: our
 * own claim; -1: we are the run. */
void segment_dir_remove(const struct segment_dir *dir, const char *name, uint64_t inode, int claim_fd);

/* Have we marked it so? Then it must not be read again. It is removed if the other agent has stopped, or has kept root
 * waiting for a minute. */
bool segment_dir_was_read(const struct segment_dir *dir, const char *name);

/* Is it for another agent of this user, which reads only those that name its socket? */
bool segment_dir_is_of_other_agent(const struct segment_dir *dir, const char *name);

/* For a run: has an agent still to read this segment of its directory? */
bool segment_dir_is_wanted(const struct segment_dir *dir, const char *name);

/* Has the run ended, and was the directory removed? That of a killed run is deleted after ten minutes; until then
 * `sonde submit` may need it. */
bool segment_dir_is_over(struct segment_dir *dir);

/* Is it the directory of a run that has ended? */
bool segment_dir_is_abandoned(const struct segment_dir *dir);

/* Creates the directory of a run, and locks it (*lock_fd; -1 on error). */
enum err segment_dir_create(const char *parent, char path[SEGMENT_DIR_PATH_MAX], int *lock_fd);

/* Removes the directory of a run with everything in it. */
void segment_dir_delete(const char *path);

/* The same at the end of a run, except for segments that an agent has still to read: it removes them and the
 * directory. */
void segment_dir_release(const char *path);

#endif
