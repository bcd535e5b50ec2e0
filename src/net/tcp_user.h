/* The user at the other end of a TCP connection from this node, from the kernel's socket table. For net/http_connection.c. */
#ifndef SONDE_NET_TCP_USER_H
#define SONDE_NET_TCP_USER_H

#include <stdbool.h>
#include <stdint.h>

/* False: the other end of fd is on another node. True: it is on this node, and *uid is its user or UINT32_MAX if that is
 * unknown (no tcp_diag, or the other end is closed). Never blocks. */
bool tcp_user_is_local(int fd, uint32_t *uid);

#endif
