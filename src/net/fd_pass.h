/* Sends an open file through a UNIX socket together with some bytes (SCM_RIGHTS), to a process that cannot open it by its
 * path, for example in another mount namespace. */
#ifndef SONDE_NET_FD_PASS_H
#define SONDE_NET_FD_PASS_H

#include <stddef.h>
#include <sys/types.h>

/* Like send with MSG_NOSIGNAL, with the file attached. The file was sent if at least one byte was. */
ssize_t fd_pass_send(int socket, const void *data, size_t size, int fd);

/* Like recv with MSG_DONTWAIT. If *fd is -1 it becomes the file that was attached; further files are closed. */
ssize_t fd_pass_receive(int socket, void *data, size_t size, int *fd);

#endif
