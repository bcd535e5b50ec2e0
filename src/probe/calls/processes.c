/* Communication between processes: signals, waiting for children, message queues; and creation of epoll instances. */
#include "probe/calls/calls.h"

#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>

CALLS_WRAP(kill, int, kill, (pid_t pid, int signal), (pid, signal))
CALLS_WRAP(wait4, pid_t, wait, (int *status), (status))
CALLS_WRAP(wait4, pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
CALLS_WRAP(wait4, pid_t, wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
CALLS_WRAP(wait4, pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))
CALLS_WRAP(epoll_create, int, epoll_create, (int size), (size))
CALLS_WRAP(epoll_create1, int, epoll_create1, (int flags), (flags))

/* Mode and attributes are present only if the call may create a queue. */
CALLS_EXPORT mqd_t mq_open(const char *name, int flags, ...)
{
    mqd_t (*real)(const char *, int, ...) = (mqd_t(*)(const char *, int, ...))calls_real(FUNCTION_mq_open);
    mode_t mode = 0;
    struct mq_attr *attributes = NULL;
    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        attributes = va_arg(list, struct mq_attr *);
        va_end(list);
    }
    if (!real) {
        errno = ENOSYS;
        return (mqd_t)-1;
    }
    uint64_t begin = calls_begin();
    mqd_t result = real(name, flags, mode, attributes);
    calls_end(CALL_mq_open, result == (mqd_t)-1, 0, begin);
    return result;
}

CALLS_WRAP(close, int, mq_close, (mqd_t queue), (queue))
CALLS_WRAP(mq_unlink, int, mq_unlink, (const char *name), (name))
CALLS_WRAP(mq_timedsend, int, mq_send, (mqd_t queue, const char *data, size_t size, unsigned priority),
           (queue, data, size, priority))
CALLS_WRAP(mq_timedsend, int, mq_timedsend,
           (mqd_t queue, const char *data, size_t size, unsigned priority, const struct timespec *until),
           (queue, data, size, priority, until))
CALLS_WRAP_BYTES(mq_timedreceive, ssize_t, mq_receive, (mqd_t queue, char *data, size_t size, unsigned *priority),
                 (queue, data, size, priority))
CALLS_WRAP_BYTES(mq_timedreceive, ssize_t, mq_timedreceive,
                 (mqd_t queue, char *data, size_t size, unsigned *priority, const struct timespec *until),
                 (queue, data, size, priority, until))
CALLS_WRAP(mq_getsetattr, int, mq_getattr, (mqd_t queue, struct mq_attr *attributes), (queue, attributes))
CALLS_WRAP(mq_getsetattr, int, mq_setattr, (mqd_t queue, const struct mq_attr *attributes, struct mq_attr *before),
           (queue, attributes, before))
