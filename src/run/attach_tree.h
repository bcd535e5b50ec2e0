/* Who descends from a process now, as far as it can be seen: for sonde attach. */
#ifndef SONDE_RUN_ATTACH_TREE_H
#define SONDE_RUN_ATTACH_TREE_H

#include "proc/children.h"

#include <sys/types.h>

struct attach_tree {
    int proc_fd;
    struct children children;
    struct pidlist pids; /* as of the last look; the root is the first */
    struct pidlist tids;
};

enum err attach_tree_open(struct attach_tree *tree);
void attach_tree_close(struct attach_tree *tree); /* harmless when it could not be opened */

/* Looks: tree->pids. Empty where the root is gone. */
enum err attach_tree_look(struct attach_tree *tree, pid_t root);

#endif
