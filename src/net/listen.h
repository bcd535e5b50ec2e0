/* Listening sockets. */
#ifndef SONDE_NET_LISTEN_H
#define SONDE_NET_LISTEN_H

#include "base/err.h"

#include <stdint.h>

/* address: a numeric address of this node ("127.0.0.1", "::1", "0.0.0.0"), "localhost", or "*" for all. port 0: any free
 * port. The socket is non-blocking. AGAIN: the address is in use. USAGE: invalid address. */
enum err listen_tcp(const char *address, uint16_t port, int *fd);

/* Creates the directory if it is missing, and replaces a stale socket. Every user can connect; requests are authorized by
 * the peer's uid. AGAIN: another process listens there. USAGE: the path is too long. */
enum err listen_unix(const char *path, int *fd);

uint16_t listen_port(int fd); /* 0: unknown */

#endif
