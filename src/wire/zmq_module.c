/* The module wire-zmq.so: sockets of libzmq, as wire/zmq.h has them. */
#include "wire/zmq.h"

#include <errno.h>
#include <stdlib.h>
#include <zmq.h>

#define MESSAGES_WAITING_MAX 64
#define MESSAGE_MAX (1 << 20) /* larger ones cost their sender the connection */

struct zmq_pull {
    void *context, *socket;
};

static void pull_close(struct zmq_pull **pull)
{
    if (!*pull)
        return;
    if ((*pull)->socket)
        zmq_close((*pull)->socket);
    if ((*pull)->context)
        zmq_ctx_term((*pull)->context);
    free(*pull);
    *pull = NULL;
}

static int bind_socket(struct zmq_pull *pull, const char *address)
{
    int none = 0, waiting = MESSAGES_WAITING_MAX;
    int64_t largest = MESSAGE_MAX;
    pull->context = zmq_ctx_new();
    pull->socket = pull->context ? zmq_socket(pull->context, ZMQ_PULL) : NULL;
    if (!pull->socket)
        return -1;
    zmq_setsockopt(pull->socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(pull->socket, ZMQ_RCVHWM, &waiting, sizeof waiting);
    zmq_setsockopt(pull->socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    return zmq_bind(pull->socket, address);
}

static enum err pull_open(struct zmq_pull **pull, const char *address, char *why, size_t why_size)
{
    *pull = calloc(1, sizeof **pull);
    if (!*pull)
        return NOMEM;
    if (bind_socket(*pull, address) == 0)
        return OK;
    int number = zmq_errno();
    snprintf(why, why_size, "%s", zmq_strerror(number));
    pull_close(pull);
    return number == EINVAL || number == EPROTONOSUPPORT ? USAGE : err_from_errno(number);
}

static int pull_fd(const struct zmq_pull *pull)
{
    int fd = -1;
    size_t size = sizeof fd;
    return zmq_getsockopt(pull->socket, ZMQ_FD, &fd, &size) == 0 ? fd : -1;
}

static enum err pull_next(struct zmq_pull *pull, struct buf *message)
{
    zmq_msg_t part;
    int more;
    buf_reset(message);
    do {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, pull->socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&part);
            return zmq_errno() == EAGAIN ? AGAIN : IO;
        }
        buf_add(message, zmq_msg_data(&part), zmq_msg_size(&part));
        more = zmq_msg_more(&part);
        zmq_msg_close(&part);
    } while (more);
    bool failed = message->failed;
    message->failed = false;
    return failed ? FULL : OK;
}

extern const struct zmq_module sonde_zmq;
__attribute__((visibility("default"))) const struct zmq_module sonde_zmq = {
    .version = ZMQ_MODULE_VERSION,
    .pull_open = pull_open,
    .pull_fd = pull_fd,
    .pull_next = pull_next,
    .pull_close = pull_close,
};
