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
    uint64_t device;   /* on which the directory is */
    size_t segments;   /* number of known segments in it */
    size_t unread;     /* of these, those that were not read to their end */
    bool must_list, is_listing;
    uint64_t ended_ns; /* CLOCK_MONOTONIC: when the run was first found to have ended; 0: not yet */
    struct segment_dir *next;
};

/* run_name: "sonde-run.<uid>.<random>" for the directory of a run, which must belong to that user; NULL: any
 * directory. ABSENT, DENIED, NOMEM. */
enum err segment_dir_open(struct segment_dir **dir, const char *path, const char *run_name, int inotify_fd);

/* Frees *dir and replaces it by the next one in the list. inotify_fd -1: the watch need not be removed. */
void segment_dir_close(struct segment_dir **dir, int inotify_fd);

/* Call when a segment was read to its end, and what it counted is saved: removes it, unless another agent (root's or the
 * user's) or the run has still to read it. False: it still exists; call again later, with the same descriptor, which tells
 * the others that this agent has read it. Root's agent has no permission to remove segments of other users' runs: these
 * remove them. is_agent false: the caller is the run. is_overdue: it was waited long enough for the others. */
bool segment_dir_remove(const struct segment_dir *dir, const char *name, int fd, bool is_agent, bool is_overdue);

/* Calls on_name for the next names in the directory, as many as fit into calls_max buffers. True: that was all; the next
 * call begins again. */
typedef void segment_dir_on_name(void *context, struct segment_dir *dir, const char *name, uint64_t inode);
bool segment_dir_list(struct segment_dir *dir, size_t calls_max, segment_dir_on_name *on_name, void *context);

/* Does the segment name the socket of another agent of this user, which reads only such segments? */
bool segment_dir_is_of_other_agent(const struct segment_dir *dir, const char *name);

/* Has the run ended, and is the directory removed? If everything in it was read, deletes the directory of a
 * killed run after ten minutes; until then `sonde submit` may need it. */
bool segment_dir_has_ended(struct segment_dir *dir);

/* Is it the directory of a run whose process has ended, whether or not it still exists? */
bool segment_dir_is_abandoned(const struct segment_dir *dir);

/* Creates the directory of a run, and locks it (*lock_fd; -1 on error). */
enum err segment_dir_create(const char *parent, char path[SEGMENT_DIR_PATH_MAX], int *lock_fd);

/* Removes the directory of a run with everything in it. */
void segment_dir_delete(const char *path);

/* Like segment_dir_delete, at the end of a run, but moves segments that an agent has still to read to the directory above. */
void segment_dir_release(const char *path);

#endif
