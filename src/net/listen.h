/* Listening sockets of the agent. */
#ifndef SONDE_NET_LISTEN_H
#define SONDE_NET_LISTEN_H

#include "base/err.h"

#include <stdint.h>

/* address: of this machine, in figures ("127.0.0.1", "::1", "0.0.0.0"), "localhost", or "*" for all. port 0: one that is
 * free. The socket does not block. AGAIN: somebody listens there already. USAGE: no address. */
enum err listen_tcp(const char *address, uint16_t port, int *fd);

/* Makes the folder when it is not there, and replaces a socket that nobody listens on. Everybody may connect: what they
 * may ask is decided by who they are. AGAIN: somebody listens there already. USAGE: the path is too long. */
enum err listen_unix(const char *path, int *fd);

uint16_t listen_port(int fd); /* 0: not known */

#endif
