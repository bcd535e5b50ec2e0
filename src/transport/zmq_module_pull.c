/* PULL, bound, and PUSH, connected: messages one way, without an answer, as Colmet has them. */
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

void pull_close(struct zmq_pull **pull)
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

enum err pull_open(struct zmq_pull **pull, const char *address, char *why, size_t why_size)
{
    *pull = calloc(1, sizeof **pull);
    if (!*pull)
        return NOMEM;
    if (bind_socket(*pull, address) == 0)
        return OK;
    enum err err = zmq_module_fail(why, why_size);
    pull_close(pull);
    return err;
}

int pull_fd(const struct zmq_pull *pull)
{
    return zmq_module_fd(pull->socket);
}

enum err pull_next(struct zmq_pull *pull, struct buf *message)
{
    return zmq_module_next(pull->socket, message);
}

void push_close(struct zmq_push **push, unsigned linger_ms)
{
    if (!*push)
        return;
    if ((*push)->socket) {
        zmq_module_set((*push)->socket, ZMQ_LINGER, (int)linger_ms);
        zmq_close((*push)->socket);
    }
    if ((*push)->context)
        zmq_ctx_term((*push)->context); /* waits for what lingers: which is why a PUSH has a context of its own */
    free(*push);
    *push = NULL;
}

enum err push_open(struct zmq_push **push, const char *address, unsigned queued_max, char *why, size_t why_size)
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
    enum err err = zmq_module_fail(why, why_size);
    push_close(push, 0);
    return err;
}

enum err push_send(struct zmq_push *push, struct bytes message)
{
    return zmq_module_send(push->socket, message);
}
