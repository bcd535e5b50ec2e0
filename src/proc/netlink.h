/* Netlink sockets: open one with a large buffer, read it in batches, count messages lost to overflow. */
#ifndef SONDE_PROC_NETLINK_H
#define SONDE_PROC_NETLINK_H

#include "base/buf.h"
#include "base/err.h"

/* Opens a non-blocking socket bound to groups (0: unicast only). ABSENT: this kernel or network namespace does not have
 * the protocol; DENIED: this user may not join the groups. */
enum err netlink_open(int *fd, int protocol, uint32_t groups);

/* Sends one message to the kernel. */
enum err netlink_send(int fd, const void *message, size_t size);

/* Waits until the socket is readable. AGAIN: timeout. */
enum err netlink_wait(int fd, int timeout_ms);

#define NETLINK_READ_MAX 8 /* preparing more slots costs more than it saves when few datagrams are waiting */

/* Like netlink_drain, for the few datagrams of one system call. AGAIN: there may be more. */
enum err netlink_read_some(int fd, size_t message_max, uint64_t *lost,
                           void (*each)(void *context, struct bytes datagram), void *context);

/* Passes each waiting datagram of the kernel to each; none may be larger than message_max. Returns when there are no
 * more, or after some hundred thousand, so that a flood cannot block the caller forever. *lost: datagrams lost to
 * overflow since the socket was opened. */
enum err netlink_drain(int fd, size_t message_max, uint64_t *lost,
                       void (*each)(void *context, struct bytes datagram), void *context);

#endif
