/* The kernel's message sockets: opening one with a large buffer, emptying it in batches, counting what overflowed. */
#ifndef SONDE_PROC_NETLINK_H
#define SONDE_PROC_NETLINK_H

#include "base/buf.h"
#include "base/err.h"

/* A non-blocking socket bound to groups (0: unicast only). ABSENT when this kernel or network namespace has no such
 * protocol, DENIED when the groups are not for this user. */
enum err netlink_open(int *fd, int protocol, uint32_t groups);

/* Sends one message to the kernel. */
enum err netlink_send(int fd, const void *message, size_t size);

/* Waits until something can be read. AGAIN when nothing came in time. */
enum err netlink_wait(int fd, int timeout_ms);

#define NETLINK_READ_MAX 8 /* to prepare room for more costs more than it spares when few are there */

/* The same with the few datagrams that one call gives. AGAIN: there may be more. */
enum err netlink_read_some(int fd, size_t message_max, uint64_t *lost,
                           void (*each)(void *context, struct bytes datagram), void *context);

/* Gives each datagram that is there and came from the kernel to each; message_max: none is larger. Returns when there
 * are no more, or after some hundred thousand, so that a storm cannot hold the caller for ever. *lost is what
 * overflowed since the socket was opened. */
enum err netlink_drain(int fd, size_t message_max, uint64_t *lost,
                       void (*each)(void *context, struct bytes datagram), void *context);

#endif
