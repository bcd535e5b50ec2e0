/* The module wire-zmq.so: sockets of libzmq, as transport/zmq.h has them, and the router. Here: the table, and what
 * all sockets of libzmq share. */
#include "transport/zmq_module.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define SOCKETS_MAX 1023 /* of one context: libzmq's own default, tables of 12 kB */

struct shared {
    void *context;
    unsigned sockets;
    struct shared *next;
};

static struct shared *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct shared *shared_new(void)
{
    struct shared *shared = calloc(1, sizeof *shared);
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
    struct shared *shared = all;
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

void zmq_module_leave(void *context, unsigned sockets)
{
    struct shared *gone = NULL;
    pthread_mutex_lock(&lock);
    for (struct shared **at = &all; *at; at = &(*at)->next) {
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

enum err zmq_module_fail(char *why, size_t why_size)
{
    int number = zmq_errno();
    snprintf(why, why_size, "%s", zmq_strerror(number));
    return number == EINVAL || number == EPROTONOSUPPORT ? USAGE : err_from_errno(number);
}

void zmq_module_set(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

static bool set_key(void *socket, int option, const char *key)
{
    return key && strlen(key) == ZMQ_KEY_MAX - 1 && zmq_setsockopt(socket, option, key, ZMQ_KEY_MAX) == 0;
}

enum err zmq_module_protect(void *socket, const struct zmq_keys *keys, char *why, size_t why_size)
{
    if (!keys || !keys->secret_key)
        return OK;
    if (!zmq_has("curve")) {
        snprintf(why, why_size, "libzmq was built without encryption (CURVE)");
        return ABSENT;
    }
    if (set_key(socket, ZMQ_CURVE_SECRETKEY, keys->secret_key) && set_key(socket, ZMQ_CURVE_PUBLICKEY, keys->public_key)
        && set_key(socket, ZMQ_CURVE_SERVERKEY, keys->server_key))
        return OK;
    snprintf(why, why_size, "a key is not one of CURVE: 40 characters, as 'sonde keygen' makes them");
    return USAGE;
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
    .pull_open = pull_open,
    .pull_fd = pull_fd,
    .pull_next = pull_next,
    .pull_close = pull_close,
    .push_open = push_open,
    .push_send = push_send,
    .push_close = push_close,
    .dealer_open = dealer_open,
    .dealer_fd = dealer_fd,
    .dealer_send = dealer_send,
    .dealer_next = dealer_next,
    .dealer_is_up = dealer_is_up,
    .dealer_close = dealer_close,
    .router_open = router_open,
    .router_fd = router_fd,
    .router_next = router_next,
    .router_send = router_send,
    .router_close = router_close,
    .keypair = keypair,
    .public_of = public_of,
};
