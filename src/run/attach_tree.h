/* The current descendants of a process, as far as visible: for sonde attach. */
#ifndef SONDE_RUN_ATTACH_TREE_H
#define SONDE_RUN_ATTACH_TREE_H

#include "proc/children.h"

#include <sys/types.h>

struct attach_tree {
    int proc_fd;
    struct children children;
    struct pidlist pids; /* as of the last refresh; the root comes first */
    struct pidlist tids;
};

enum err attach_tree_open(struct attach_tree *tree);
void attach_tree_close(struct attach_tree *tree); /* harmless if it could not be opened */

/* Updates tree->pids. Empty if the root is gone. */
enum err attach_tree_refresh(struct attach_tree *tree, pid_t root);

#endif
