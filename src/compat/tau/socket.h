/* Creates tau's socket in /tmp, where everybody can write: does not replace somebody else's, removes a stale one of
 * ours, and lets everybody on the node connect. For server.c. */
#ifndef SONDE_COMPAT_TAU_SOCKET_H
#define SONDE_COMPAT_TAU_SOCKET_H

#include "base/buf.h"

#include <stdint.h>

struct tau_socket {
    int fd;        /* listening, non-blocking; -1: none */
    char path[108];
    uint64_t inode; /* so that only our own is removed */
};

/* AGAIN: somebody listens there; DENIED: what is there belongs to another user; USAGE: it is not a socket, or the path
 * is too long. error gets a message that says what to do. */
enum err tau_socket_open(struct tau_socket *socket, const char *path, struct buf *error);
void tau_socket_close(struct tau_socket *socket);

#endif
