/* PULL (bound) and PUSH (connected): one-way messages without answers, as Colmet uses them. */
#include "transport/zmq_module.h"

#include <stdlib.h>
#include <zmq.h>

#define PULL_WAITING_MAX 64
#define PULL_MESSAGE_MAX (1 << 20)

struct zmq_pull {
    void *context, *socket;
};

struct zmq_push {
    void *context, *socket;
};

void zmq_pull_close(struct zmq_pull **pull)
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
    int64_t largest = PULL_MESSAGE_MAX;
    pull->context = zmq_ctx_new();
    pull->socket = pull->context ? zmq_socket(pull->context, ZMQ_PULL) : NULL;
    if (!pull->socket)
        return -1;
    zmq_module_set(pull->socket, ZMQ_LINGER, 0);
    zmq_module_set(pull->socket, ZMQ_RCVHWM, PULL_WAITING_MAX);
    zmq_setsockopt(pull->socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    return zmq_bind(pull->socket, address);
}

enum err zmq_pull_open(struct zmq_pull **pull, const char *address, char *error, size_t error_size)
{
    *pull = calloc(1, sizeof **pull);
    if (!*pull)
        return NOMEM;
    if (bind_socket(*pull, address) == 0)
        return OK;
    enum err err = zmq_module_error(error, error_size);
    zmq_pull_close(pull);
    return err;
}

int zmq_pull_fd(const struct zmq_pull *pull)
{
    return zmq_module_fd(pull->socket);
}

enum err zmq_pull_next(struct zmq_pull *pull, struct buf *message)
{
    return zmq_module_next(pull->socket, message);
}

void zmq_push_close(struct zmq_push **push, unsigned linger_ms)
{
    if (!*push)
        return;
    if ((*push)->socket) {
        zmq_module_set((*push)->socket, ZMQ_LINGER, (int)linger_ms);
        zmq_close((*push)->socket);
    }
    if ((*push)->context)
        zmq_ctx_term((*push)->context); /* blocks while messages linger, so a PUSH has its own context */
    free(*push);
    *push = NULL;
}

enum err zmq_push_open(struct zmq_push **push, const char *address, unsigned queued_max, char *error, size_t error_size)
{
    struct zmq_push *p = *push = calloc(1, sizeof *p);
    if (!p)
        return NOMEM;
    p->context = zmq_ctx_new();
    p->socket = p->context ? zmq_socket(p->context, ZMQ_PUSH) : NULL;
    if (p->socket) {
        zmq_module_set(p->socket, ZMQ_SNDHWM, (int)queued_max);
        zmq_module_set(p->socket, ZMQ_IPV6, 1);
    }
    if (p->socket && zmq_connect(p->socket, address) == 0)
        return OK;
    enum err err = zmq_module_error(error, error_size);
    zmq_push_close(push, 0);
    return err;
}

enum err zmq_push_send(struct zmq_push *push, struct bytes message)
{
    return zmq_module_send(push->socket, message);
}
