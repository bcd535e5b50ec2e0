/* Sockets. */
#include "probe/calls/calls.h"

#include <sys/socket.h>

/* Declared only for fortified programs. */
ssize_t __recv_chk(int fd, void *data, size_t size, size_t capacity, int flags);
ssize_t __recvfrom_chk(int fd, void *data, size_t size, size_t capacity, int flags, __SOCKADDR_ARG address,
                       socklen_t *address_size);

CALLS_WRAP(socket, int, socket, (int domain, int type, int protocol), (domain, type, protocol))
CALLS_WRAP(connect, int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t size), (fd, address, size))
CALLS_WRAP(accept, int, accept, (int fd, __SOCKADDR_ARG address, socklen_t *size), (fd, address, size))
CALLS_WRAP(accept4, int, accept4, (int fd, __SOCKADDR_ARG address, socklen_t *size, int flags), (fd, address, size, flags))
CALLS_WRAP(bind, int, bind, (int fd, __CONST_SOCKADDR_ARG address, socklen_t size), (fd, address, size))
CALLS_WRAP(listen, int, listen, (int fd, int backlog), (fd, backlog))
CALLS_WRAP(socketpair, int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))
CALLS_WRAP(setsockopt, int, setsockopt, (int fd, int level, int name, const void *value, socklen_t size),
           (fd, level, name, value, size))
CALLS_WRAP(getsockopt, int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
           (fd, level, name, value, size))
CALLS_WRAP(getsockname, int, getsockname, (int fd, __SOCKADDR_ARG address, socklen_t *size), (fd, address, size))
CALLS_WRAP(getpeername, int, getpeername, (int fd, __SOCKADDR_ARG address, socklen_t *size), (fd, address, size))
CALLS_WRAP(shutdown, int, shutdown, (int fd, int how), (fd, how))
CALLS_WRAP_BYTES(recvfrom, ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
CALLS_WRAP_BYTES(recvfrom, ssize_t, __recv_chk, (int fd, void *data, size_t size, size_t capacity, int flags),
                 (fd, data, size, capacity, flags))
CALLS_WRAP_BYTES(recvfrom, ssize_t, recvfrom,
                 (int fd, void *data, size_t size, int flags, __SOCKADDR_ARG address, socklen_t *address_size),
                 (fd, data, size, flags, address, address_size))
CALLS_WRAP_BYTES(recvfrom, ssize_t, __recvfrom_chk,
                 (int fd, void *data, size_t size, size_t capacity, int flags, __SOCKADDR_ARG address,
                  socklen_t *address_size),
                 (fd, data, size, capacity, flags, address, address_size))
CALLS_WRAP_BYTES(recvmsg, ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
CALLS_WRAP(recvmmsg, int, recvmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
           (fd, messages, count, flags, timeout))
CALLS_WRAP_BYTES(sendto, ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags))
CALLS_WRAP_BYTES(sendto, ssize_t, sendto,
                 (int fd, const void *data, size_t size, int flags, __CONST_SOCKADDR_ARG address, socklen_t address_size),
                 (fd, data, size, flags, address, address_size))
CALLS_WRAP_BYTES(sendmsg, ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
CALLS_WRAP(sendmmsg, int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
           (fd, messages, count, flags))
