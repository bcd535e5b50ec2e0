/* Who is whose child: from /proc/PID/task/TID/children where the kernel has it, else from the parents that all
 * processes of the node name. */
#ifndef SONDE_PROC_CHILDREN_H
#define SONDE_PROC_CHILDREN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of pids or tids that is used again at each tick. */
struct pidlist {
    uint32_t *ids;
    size_t count, capacity;
};

enum err pidlist_add(struct pidlist *list, uint32_t id);
void pidlist_clear(struct pidlist *list); /* frees */

struct parent_entry {
    uint32_t ppid, pid;
};

struct children {
    int proc_fd; /* borrowed: a directory descriptor of /proc */
    bool scans_proc;  /* the kernel has no children files: the whole of /proc is read at each tick */
    struct parent_entry *all;
    size_t count, capacity;
};

/* Finds out which way there is. */
void children_init(struct children *children, int proc_fd, uint32_t pid);
void children_clear(struct children *children);

/* At the beginning of each tick. */
enum err children_refresh(struct children *children);

/* The threads of a process. */
enum err children_threads(const struct children *children, uint32_t pid, struct pidlist *tids);

/* Adds the children that these threads of pid made. A list that the kernel wrote while children ended may lack one. */
enum err children_add(const struct children *children, uint32_t pid, const struct pidlist *tids, struct pidlist *out);

#endif
