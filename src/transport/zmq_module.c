/* The module wire-zmq.so: the table of functions declared in transport/zmq.h, and what all libzmq sockets share. */
#include "transport/zmq_module.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define SOCKETS_MAX 1023 /* per context: libzmq's default (tables of 12 kB) */

struct shared_context {
    void *context;
    unsigned sockets;
    struct shared_context *next;
};

static struct shared_context *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct shared_context *shared_new(void)
{
    struct shared_context *shared = calloc(1, sizeof *shared);
    if (shared && !(shared->context = zmq_ctx_new())) {
        free(shared);
        return NULL;
    }
    if (shared) {
        shared->next = all;
        all = shared;
    }
    return shared;
}

void *zmq_module_context(unsigned sockets)
{
    pthread_mutex_lock(&lock);
    struct shared_context *shared = all;
    while (shared && shared->sockets + sockets > SOCKETS_MAX)
        shared = shared->next;
    if (!shared)
        shared = shared_new();
    if (shared)
        shared->sockets += sockets;
    void *context = shared ? shared->context : NULL;
    pthread_mutex_unlock(&lock);
    return context;
}

void zmq_module_release_context(void *context, unsigned sockets)
{
    struct shared_context *gone = NULL;
    pthread_mutex_lock(&lock);
    for (struct shared_context **at = &all; *at; at = &(*at)->next) {
        if ((*at)->context != context)
            continue;
        (*at)->sockets -= sockets;
        if ((*at)->sockets == 0) {
            gone = *at;
            *at = gone->next;
        }
        break;
    }
    pthread_mutex_unlock(&lock);
    if (gone)
        zmq_ctx_term(gone->context);
    free(gone);
}

enum err zmq_module_error(char *error, size_t error_size)
{
    int number = zmq_errno();
    snprintf(error, error_size, "%s", zmq_strerror(number));
    return number == EINVAL || number == EPROTONOSUPPORT ? USAGE : err_from_errno(number);
}

void zmq_module_set(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

int zmq_module_fd(void *socket)
{
    int fd = -1;
    size_t size = sizeof fd;
    return zmq_getsockopt(socket, ZMQ_FD, &fd, &size) == 0 ? fd : -1;
}

enum err zmq_module_next(void *socket, struct buf *message)
{
    zmq_msg_t part;
    int more;
    buf_reset(message);
    do {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) {
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

enum err zmq_module_send(void *socket, struct bytes message)
{
    while (zmq_send(socket, message.data, message.size, ZMQ_DONTWAIT) < 0)
        switch (zmq_errno()) {
        case EINTR: break;
        case EAGAIN: return AGAIN;
        case EHOSTUNREACH: return GONE;
        default: return IO;
        }
    return OK;
}

static bool keypair(char public_key[ZMQ_KEY_MAX], char secret_key[ZMQ_KEY_MAX])
{
    return zmq_curve_keypair(public_key, secret_key) == 0;
}

static bool public_of(const char *secret_key, char public_key[ZMQ_KEY_MAX])
{
    return strlen(secret_key) == ZMQ_KEY_MAX - 1 && zmq_curve_public(public_key, secret_key) == 0;
}

extern const struct zmq_module sonde_zmq;
__attribute__((visibility("default"))) const struct zmq_module sonde_zmq = {
    .version = ZMQ_MODULE_VERSION,
    .pull_open = zmq_pull_open,
    .pull_fd = zmq_pull_fd,
    .pull_next = zmq_pull_next,
    .pull_close = zmq_pull_close,
    .push_open = zmq_push_open,
    .push_send = zmq_push_send,
    .push_close = zmq_push_close,
    .dealer_open = zmq_dealer_open,
    .dealer_fd = zmq_dealer_fd,
    .dealer_send = zmq_dealer_send,
    .dealer_next = zmq_dealer_next,
    .dealer_is_up = zmq_dealer_is_up,
    .dealer_close = zmq_dealer_close,
    .router_open = zmq_router_open,
    .router_fd = zmq_router_fd,
    .router_next = zmq_router_next,
    .router_send = zmq_router_send,
    .router_close = zmq_router_close,
    .keypair = keypair,
    .public_of = public_of,
};
