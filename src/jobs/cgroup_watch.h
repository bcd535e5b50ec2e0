/* Watches cgroup directories with inotify: for cgroups that appear and disappear in them, and for tasks that are moved
 * into them or have all exited. One descriptor for all. */
#ifndef SONDE_JOBS_CGROUP_WATCH_H
#define SONDE_JOBS_CGROUP_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_watch {
    int fd; /* -1: inotify is not available */
    struct watch_entry **table; /* by watch descriptor */
    struct watch_entry **paths; /* by hierarchy and path, chained; same capacity as table */
    size_t count, capacity;
};

/* An event in a watched directory. */
struct cgroup_watch_event {
    size_t hierarchy;  /* as passed to cgroup_watch_add */
    const char *path;  /* the watched directory */
    const char *name;  /* the subdirectory; "": the tasks of path itself changed */
    bool appeared;         /* true: created, false: removed */
};

/* On an error fd is -1, and the other functions may still be called. */
enum err cgroup_watch_open(struct cgroup_watch *watch);
void cgroup_watch_close(struct cgroup_watch *watch);

/* Watches full_path. FULL: the kernel's limit is reached. Adding a directory again is harmless. */
enum err cgroup_watch_add(struct cgroup_watch *watch, const char *full_path, size_t hierarchy, const char *path);

/* The directory was removed. For cgroups the kernel does not notice that and would keep the watch. */
void cgroup_watch_remove(struct cgroup_watch *watch, size_t hierarchy, const char *path);

/* Removes the watches of directories that no longer exist, after events were lost. */
void cgroup_watch_sweep(struct cgroup_watch *watch,
                        bool (*directory_exists)(void *context, size_t hierarchy, const char *path), void *context);

/* Delivers events until until_ns (CLOCK_MONOTONIC): then more may be waiting. AGAIN: events were lost, scan
 * everything. */
enum err cgroup_watch_read(struct cgroup_watch *watch, uint64_t until_ns,
                           void (*event)(void *context, const struct cgroup_watch_event *event), void *context);

#endif
