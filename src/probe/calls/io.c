/* Reading, writing, and waiting for I/O. */
#include "probe/calls/calls.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Declared only for fortified programs. */
ssize_t __read_chk(int fd, void *data, size_t size, size_t capacity);
ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t capacity);
ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t capacity);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t capacity);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t capacity);

CALLS_WRAP_BYTES(read, ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
CALLS_WRAP_BYTES(read, ssize_t, __read_chk, (int fd, void *data, size_t size, size_t capacity), (fd, data, size, capacity))
CALLS_WRAP_BYTES(write, ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
CALLS_WRAP_BYTES(pread64, ssize_t, pread, (int fd, void *data, size_t size, off_t offset), (fd, data, size, offset))
CALLS_WRAP_BYTES(pread64, ssize_t, pread64, (int fd, void *data, size_t size, off64_t offset), (fd, data, size, offset))
CALLS_WRAP_BYTES(pread64, ssize_t, __pread_chk, (int fd, void *data, size_t size, off_t offset, size_t capacity),
                 (fd, data, size, offset, capacity))
CALLS_WRAP_BYTES(pread64, ssize_t, __pread64_chk, (int fd, void *data, size_t size, off64_t offset, size_t capacity),
                 (fd, data, size, offset, capacity))
CALLS_WRAP_BYTES(pwrite64, ssize_t, pwrite, (int fd, const void *data, size_t size, off_t offset), (fd, data, size, offset))
CALLS_WRAP_BYTES(pwrite64, ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t offset),
                 (fd, data, size, offset))
CALLS_WRAP_BYTES(readv, ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
CALLS_WRAP_BYTES(writev, ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
CALLS_WRAP_BYTES(preadv, ssize_t, preadv, (int fd, const struct iovec *parts, int count, off_t offset),
                 (fd, parts, count, offset))
CALLS_WRAP_BYTES(preadv, ssize_t, preadv64, (int fd, const struct iovec *parts, int count, off64_t offset),
                 (fd, parts, count, offset))
CALLS_WRAP_BYTES(pwritev, ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t offset),
                 (fd, parts, count, offset))
CALLS_WRAP_BYTES(pwritev, ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t offset),
                 (fd, parts, count, offset))
CALLS_WRAP_BYTES(preadv2, ssize_t, preadv2, (int fd, const struct iovec *parts, int count, off_t offset, int flags),
                 (fd, parts, count, offset, flags))
CALLS_WRAP_BYTES(preadv2, ssize_t, preadv64v2, (int fd, const struct iovec *parts, int count, off64_t offset, int flags),
                 (fd, parts, count, offset, flags))
CALLS_WRAP_BYTES(pwritev2, ssize_t, pwritev2, (int fd, const struct iovec *parts, int count, off_t offset, int flags),
                 (fd, parts, count, offset, flags))
CALLS_WRAP_BYTES(pwritev2, ssize_t, pwritev64v2, (int fd, const struct iovec *parts, int count, off64_t offset, int flags),
                 (fd, parts, count, offset, flags))

CALLS_WRAP_BYTES(sendfile, ssize_t, sendfile, (int out, int in, off_t *offset, size_t size), (out, in, offset, size))
CALLS_WRAP_BYTES(sendfile, ssize_t, sendfile64, (int out, int in, off64_t *offset, size_t size), (out, in, offset, size))
CALLS_WRAP_BYTES(splice, ssize_t, splice,
                 (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size, unsigned flags),
                 (in, in_offset, out, out_offset, size, flags))
CALLS_WRAP_BYTES(tee, ssize_t, tee, (int in, int out, size_t size, unsigned flags), (in, out, size, flags))
CALLS_WRAP_BYTES(vmsplice, ssize_t, vmsplice, (int fd, const struct iovec *parts, size_t count, unsigned flags),
                 (fd, parts, count, flags))
CALLS_WRAP_BYTES(copy_file_range, ssize_t, copy_file_range,
                 (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size, unsigned flags),
                 (in, in_offset, out, out_offset, size, flags))

CALLS_WRAP(poll, int, poll, (struct pollfd *fds, nfds_t count, int timeout), (fds, count, timeout))
CALLS_WRAP(poll, int, __poll_chk, (struct pollfd *fds, nfds_t count, int timeout, size_t capacity),
           (fds, count, timeout, capacity))
CALLS_WRAP(ppoll, int, ppoll, (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
           (fds, count, timeout, mask))
CALLS_WRAP(ppoll, int, __ppoll_chk,
           (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t capacity),
           (fds, count, timeout, mask, capacity))
CALLS_WRAP(pselect6, int, select, (int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout),
           (count, in, out, other, timeout))
CALLS_WRAP(pselect6, int, pselect,
           (int count, fd_set *in, fd_set *out, fd_set *other, const struct timespec *timeout, const sigset_t *mask),
           (count, in, out, other, timeout, mask))
CALLS_WRAP(epoll_wait, int, epoll_wait, (int fd, struct epoll_event *events, int capacity, int timeout),
           (fd, events, capacity, timeout))
CALLS_WRAP(epoll_pwait, int, epoll_pwait,
           (int fd, struct epoll_event *events, int capacity, int timeout, const sigset_t *mask),
           (fd, events, capacity, timeout, mask))
CALLS_WRAP(epoll_ctl, int, epoll_ctl, (int fd, int what, int other, struct epoll_event *event), (fd, what, other, event))
CALLS_WRAP(clock_nanosleep, int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
CALLS_WRAP_ERRNO(clock_nanosleep, int, clock_nanosleep,
                 (clockid_t clock, int flags, const struct timespec *time, struct timespec *left), (clock, flags,
                                                                                                    time, left))
CALLS_WRAP(sched_yield, int, sched_yield, (void), ())
CALLS_WRAP(getppid, pid_t, getppid, (void), ())
