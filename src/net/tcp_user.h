/* Whose the other end of a TCP connection is, when it is on this machine. From the kernel's table of sockets to http.c. */
#ifndef SONDE_NET_TCP_USER_H
#define SONDE_NET_TCP_USER_H

#include <stdbool.h>
#include <stdint.h>

/* False: the other end of fd is on another machine. True: it is on this one and *uid is its user, or UINT32_MAX where the
 * kernel does not tell (no tcp_diag, or the other end has been closed). Never blocks. */
bool tcp_user_is_here(int fd, uint32_t *uid);

#endif
