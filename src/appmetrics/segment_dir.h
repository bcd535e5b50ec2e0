/* A directory with metrics segments: /dev/shm, or the directory of one sonde run. Other users can write to its parent:
 * everything is done so that a symbolic link which somebody plants has no effect. For segments.c and
 * run/run_segments.c. */
#ifndef SONDE_APPMETRICS_SEGMENT_DIR_H
#define SONDE_APPMETRICS_SEGMENT_DIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_DIR_PATH_MAX 512
#define SEGMENT_DIR_LOCK "run" /* lock file in the directory of a run, locked while it runs */

struct segment_dir {
    char path[SEGMENT_DIR_PATH_MAX];
    int fd;            /* the open directory */
    int watch;         /* inotify watch; -1: none */
    bool is_run;       /* directory of a sonde run, which reads and removes the segments in it until it ends */
    uint32_t uid;      /* owner of the directory */
    size_t segments;   /* number of known segments in it */
    uint64_t ended_ns; /* CLOCK_MONOTONIC: when the run was first found to have ended; 0: not yet */
    struct segment_dir *next;
};

/* run_name: "sonde-run.<uid>.<random>" for the directory of a run, which must belong to that user; NULL: any
 * directory. ABSENT, DENIED, NOMEM. */
enum err segment_dir_open(struct segment_dir **dir, const char *path, const char *run_name, int inotify_fd);

/* Frees *dir and replaces it by the next one in the list. inotify_fd -1: the watch need not be removed. */
void segment_dir_close(struct segment_dir **dir, int inotify_fd);

/* Removes a segment that was read to its end, if it is still the same file. If a run or another agent (root's or the
 * user's) reads it too, the first one to finish marks it as read and the other one removes it. claim_fd: the agent's
 * claim (segment_claim.h); -1: the caller is the run. */
void segment_dir_remove(const struct segment_dir *dir, const char *name, uint64_t inode, int claim_fd);

/* Has this agent marked the segment as read? Then it must not be read again. Also removes it if the other agent has
 * stopped, or if root has waited for a minute for the other agent. */
bool segment_dir_was_read(const struct segment_dir *dir, const char *name);

/* Does the segment name the socket of another agent of this user, which reads only such segments? */
bool segment_dir_is_of_other_agent(const struct segment_dir *dir, const char *name);

/* For a run: has an agent still to read this segment of its directory? */
bool segment_dir_is_wanted(const struct segment_dir *dir, const char *name);

/* Has the run ended, and is the directory removed? Deletes the directory of a killed run after ten minutes; until then
 * `sonde submit` may need it. */
bool segment_dir_has_ended(struct segment_dir *dir);

/* Is it the directory of a run whose process has ended, whether or not it still exists? */
bool segment_dir_is_abandoned(const struct segment_dir *dir);

/* Creates the directory of a run, and locks it (*lock_fd; -1 on error). */
enum err segment_dir_create(const char *parent, char path[SEGMENT_DIR_PATH_MAX], int *lock_fd);

/* Removes the directory of a run with everything in it. */
void segment_dir_delete(const char *path);

/* Like segment_dir_delete, at the end of a run, but keeps segments that an agent has still to read. The agent then
 * removes them and the directory. */
void segment_dir_release(const char *path);

#endif
