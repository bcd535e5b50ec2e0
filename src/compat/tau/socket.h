/* The place of tau's socket: in /tmp, where everybody may write. Made so that nobody's is stolen, none that is dead is in the
 * way, and everybody on the node may connect. For server.c. */
#ifndef SONDE_COMPAT_TAU_SOCKET_H
#define SONDE_COMPAT_TAU_SOCKET_H

#include "base/buf.h"

#include <stdint.h>

struct tau_socket {
    int fd;        /* listens and does not block; -1: none */
    char path[108];
    uint64_t inode; /* of it, so that only our own is removed */
};

/* AGAIN: somebody listens status; DENIED: another user made what is status; USAGE: it is no socket, or the path is too long. error
 * gets a sentence that says what to do. */
enum err tau_socket_open(struct tau_socket *socket, const char *path, struct buf *error);
void tau_socket_close(struct tau_socket *socket);

#endif
