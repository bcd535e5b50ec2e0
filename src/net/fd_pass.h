/* An open file that goes through a UNIX socket with some bytes (SCM_RIGHTS): for somebody who could not open it by its path, in
 * another mount namespace. */
#ifndef SONDE_NET_FD_PASS_H
#define SONDE_NET_FD_PASS_H

#include <stddef.h>
#include <sys/types.h>

/* As send with MSG_NOSIGNAL, with the file. It is sent when a byte was. */
ssize_t fd_pass_send(int socket, const void *data, size_t size, int fd);

/* As recv with MSG_DONTWAIT. *fd becomes the file that came with the bytes, unless it is one already (-1: it is none); more
 * than that one are closed. */
ssize_t fd_pass_receive(int socket, void *data, size_t size, int *fd);

#endif
