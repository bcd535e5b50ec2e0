/* Folders of control groups that are watched with inotify: for folders that come and go in them, and for tasks that are put
 * into them or have all left. One descriptor for all. */
#ifndef SONDE_JOBS_CGROUP_WATCH_H
#define SONDE_JOBS_CGROUP_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_watch {
    int fd; /* -1: there is no inotify to be had */
    struct watch_entry **table; /* by watch descriptor */
    struct watch_entry **paths; /* by hierarchy and path, chained; as much room as the table has */
    size_t count, capacity;
};

/* What happened in a watched folder. */
struct cgroup_watch_event {
    size_t hierarchy;  /* as given to cgroup_watch_add */
    const char *path;  /* of the folder that is watched */
    const char *name;  /* of the folder in it; "": its own tasks are others now */
    bool appeared;         /* or it went */
};

/* On an error fd is -1, and the rest may be called all the same. */
enum err cgroup_watch_open(struct cgroup_watch *watch);
void cgroup_watch_close(struct cgroup_watch *watch);

/* Watches the folder whose name below the root is whole. FULL: the kernel gives no more. Adding one again is no harm. */
enum err cgroup_watch_add(struct cgroup_watch *watch, const char *full_path, size_t hierarchy, const char *path);

/* The folder has gone. For control groups the kernel itself does not take notice of that, and would keep the watch for ever. */
void cgroup_watch_remove(struct cgroup_watch *watch, size_t hierarchy, const char *path);

/* Removes all whose folder is not there: after events were lost. */
void cgroup_watch_sweep(struct cgroup_watch *watch, bool (*directory_exists)(void *context, size_t hierarchy,
                                                                             const char *path), void *context);

/* Delivers what has happened, until until_ns (CLOCK_MONOTONIC) has passed: then there may be more to be read. Returns AGAIN when
 * some of it was lost: look at everything. */
enum err cgroup_watch_read(struct cgroup_watch *watch, uint64_t until_ns,
                           void (*event)(void *context, const struct cgroup_watch_event *event), void *context);

#endif
