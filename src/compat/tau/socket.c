/* lstat, bind, listen, and the error messages. */
#include "compat/tau/socket.h"

#include "net/listen.h"
#include "base/reclaim_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE 4096 /* the ranks of a job connect at the same time */

/* A socket of another user would receive the data of all programs. Root removes it; others must not use the path. */
static enum err clear_path(const char *path, struct buf *error)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return OK;
    if (!S_ISSOCK(status.st_mode) && status.st_uid == geteuid()) {
        buf_printf(error, "cannot accept clients of tau: %s is not a socket. Remove it, or set another path with tau in "
                   "[programs]", path);
        return USAGE;
    }
    if (status.st_uid == geteuid() || reclaim_path(path))
        return OK;
    buf_printf(error, "cannot accept clients of tau: %s belongs to another user (%u), who receives what programs send there. "
               "Set another path with tau in [programs], and TAU_METRIC_PROXY for the programs", path, (unsigned)status.st_uid);
    return DENIED;
}

enum err tau_socket_open(struct tau_socket *socket, const char *path, struct buf *error)
{
    struct stat made;
    *socket = (struct tau_socket){ .fd = -1 };
    if (strlen(path) >= sizeof socket->path) {
        buf_printf(error, "cannot accept clients of tau: the path of the socket is longer than %zu bytes: %s",
                   sizeof socket->path - 1, path);
        return USAGE;
    }
    enum err err = clear_path(path, error);
    if (err)
        return err;
    err = listen_unix(path, &socket->fd);
    if (err == AGAIN)
        buf_printf(error, "cannot accept clients of tau: another agent or proxy listens on %s. Stop it, or set another "
                   "path with tau in [programs]", path);
    else if (err)
        buf_printf(error, "cannot accept clients of tau: cannot listen on %s: %s. Set another path with tau in [programs]", path,
                   err_text(err));
    if (err)
        return err;
    listen(socket->fd, QUEUE);
    snprintf(socket->path, sizeof socket->path, "%s", path);
    socket->inode = lstat(path, &made) == 0 ? made.st_ino : 0;
    return OK;
}

void tau_socket_close(struct tau_socket *socket)
{
    struct stat status;
    if (socket->fd < 0)
        return;
    close(socket->fd);
    socket->fd = -1;
    if (socket->inode && lstat(socket->path, &status) == 0 && status.st_ino == socket->inode)
        unlink(socket->path);
}
