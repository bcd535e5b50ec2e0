/* Lists threads and children of processes: from /proc/PID/task/TID/children where the kernel has it, else from the
 * parent pids of all processes of the node. */
#ifndef SONDE_PROC_CHILDREN_H
#define SONDE_PROC_CHILDREN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reusable list of pids or tids. */
struct pidlist {
    uint32_t *ids;
    size_t count, capacity;
};

enum err pidlist_add(struct pidlist *list, uint32_t id);
void pidlist_clear(struct pidlist *list); /* frees the memory */

struct parent_entry {
    uint32_t ppid, pid;
};

struct children {
    int proc_fd; /* borrowed: a directory descriptor of /proc */
    bool scans_proc;  /* the kernel has no children files: all of /proc is read at each tick */
    struct parent_entry *all;
    size_t count, capacity;
};

/* Detects which method the kernel supports. */
void children_init(struct children *children, int proc_fd, uint32_t pid);
void children_clear(struct children *children);

/* Call at the beginning of each tick. */
enum err children_refresh(struct children *children);

/* Adds the threads of a process. */
enum err children_threads(const struct children *children, uint32_t pid, struct pidlist *tids);

/* Adds the children that these threads of pid started. The kernel's list may miss some if children exit meanwhile. */
enum err children_add(const struct children *children, uint32_t pid, const struct pidlist *tids, struct pidlist *out);

#endif
