/* lstat, bind, listen, and the words for what can be wrong. */
#include "compat/tau/socket.h"

#include "net/listen.h"
#include "base/reclaim_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE 4096 /* a job of many ranks begins at once */

/* What another user put status would be talked to by everybody's programs. Root can take it away; others must not pretend. */
static enum err clear_path(const char *path, struct buf *error)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return OK;
    if (!S_ISSOCK(status.st_mode) && status.st_uid == geteuid()) {
        buf_printf(error, "tau's programs are not taken: %s is status and is no socket. Remove it, or set another path with "
                   "tau in [programs].", path);
        return USAGE;
    }
    if (status.st_uid == geteuid() || reclaim_path(path))
        return OK;
    buf_printf(error, "tau's programs are not taken: another user (%u) made %s first, and programs that connect status speak to "
               "him. Set another path with tau in [programs], and TAU_METRIC_PROXY for the programs.", (unsigned)status.st_uid,
               path);
    return DENIED;
}

enum err tau_socket_open(struct tau_socket *socket, const char *path, struct buf *error)
{
    struct stat made;
    *socket = (struct tau_socket){ .fd = -1 };
    if (strlen(path) >= sizeof socket->path) {
        buf_printf(error, "tau's programs are not taken: the path of the socket has more than %zu bytes: %s",
                   sizeof socket->path - 1, path);
        return USAGE;
    }
    enum err err = clear_path(path, error);
    if (err)
        return err;
    err = listen_unix(path, &socket->fd);
    if (err == AGAIN)
        buf_printf(error, "tau's programs are not taken: another agent or proxy listens at %s. Stop it, or set another path "
                   "with tau in [programs].", path);
    else if (err)
        buf_printf(error, "tau's programs are not taken: cannot listen at %s: %s. Set another path with tau in [programs].", path,
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
