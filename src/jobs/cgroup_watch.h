/* Folders of control groups that are watched with inotify: for folders that come and go in them, and for tasks that are put
 * into them or have all left. One descriptor for all. */
#ifndef SONDE_JOBS_CGROUP_WATCH_H
#define SONDE_JOBS_CGROUP_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watches {
    int fd; /* -1: there is no inotify to be had */
    struct watch **table; /* by watch descriptor */
    struct watch **paths; /* by hierarchy and path, chained; as much room as the table has */
    size_t count, room;
};

/* What happened in a watched folder. */
struct watches_event {
    size_t hierarchy;  /* as given to watches_add */
    const char *path;  /* of the folder that is watched */
    const char *name;  /* of the folder in it; "": its own tasks are others now */
    bool came;         /* or it went */
};

/* On an error fd is -1, and the rest may be called all the same. */
enum err watches_open(struct watches *watches);
void watches_close(struct watches *watches);

/* Watches the folder whose name below the root is whole. FULL: the kernel gives no more. Adding one again is no harm. */
enum err watches_add(struct watches *watches, const char *whole, size_t hierarchy, const char *path);

/* The folder has gone. For control groups the kernel itself does not take notice of that, and would keep the watch for ever. */
void watches_remove(struct watches *watches, size_t hierarchy, const char *path);

/* Removes all whose folder is not there: after events were lost. */
void watches_sweep(struct watches *watches, bool (*is_there)(void *context, size_t hierarchy, const char *path), void *context);

/* Delivers what has happened, until until_ns (CLOCK_MONOTONIC) has passed: then there may be more to be read. Returns AGAIN when
 * some of it was lost: look at everything. */
enum err watches_read(struct watches *watches, uint64_t until_ns,
                      void (*event)(void *context, const struct watches_event *event), void *context);

#endif
