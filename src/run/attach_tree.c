/* Reads the children of one process after the other. */
#include "run/attach_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum err attach_tree_open(struct attach_tree *tree)
{
    *tree = (struct attach_tree){ .proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (tree->proc_fd < 0)
        return err_from_errno(errno);
    children_init(&tree->children, tree->proc_fd, (uint32_t)getpid());
    return OK;
}

void attach_tree_close(struct attach_tree *tree)
{
    if (tree->proc_fd < 0)
        return;
    children_clear(&tree->children);
    pidlist_clear(&tree->pids);
    pidlist_clear(&tree->tids);
    close(tree->proc_fd);
    tree->proc_fd = -1;
}

/* Of the entries from `from` on. When attached to our own shell, we are not part of it. */
static void leave_out_self(struct pidlist *pids, size_t from)
{
    for (size_t i = from; i < pids->count; i++)
        if (pids->ids[i] == (uint32_t)getpid())
            pids->ids[i] = pids->ids[--pids->count];
}

enum err attach_tree_refresh(struct attach_tree *tree, pid_t root)
{
    tree->pids.count = tree->tids.count = 0;
    if (tree->proc_fd < 0)
        return ABSENT;
    enum err err = children_refresh(&tree->children);
    if (!err && children_threads(&tree->children, (uint32_t)root, &tree->tids) == OK && tree->tids.count)
        err = pidlist_add(&tree->pids, (uint32_t)root);
    for (size_t i = 0; !err && i < tree->pids.count; i++) {
        size_t before = tree->pids.count;
        tree->tids.count = 0;
        if (children_threads(&tree->children, tree->pids.ids[i], &tree->tids) == OK)
            err = children_add(&tree->children, tree->pids.ids[i], &tree->tids, &tree->pids);
        leave_out_self(&tree->pids, before);
    }
    return err;
}
