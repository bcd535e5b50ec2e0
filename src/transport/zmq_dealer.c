/* DEALER: one connection to one collector. It does not reconnect: its owner sees that it is down and opens another. The
 * state of the connection comes from libzmq's socket monitor. */
#include "transport/zmq_module.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.h>

#define SOCKETS 3 /* the dealer, and both ends of its monitor */
#define WAITING_MAX 256
#define ERROR_MAX 128

enum dealer_state { CONNECTING, HANDSHAKING, UP, DOWN };

struct zmq_dealer {
    void *context, *socket, *monitor;
    int poll; /* an epoll descriptor for both sockets */
    enum dealer_state state;
    char error[ERROR_MAX];
};

void zmq_dealer_close(struct zmq_dealer **dealer)
{
    struct zmq_dealer *d = *dealer;
    if (!d)
        return;
    if (d->socket) {
        zmq_socket_monitor(d->socket, NULL, 0);
        zmq_close(d->socket);
    }
    if (d->monitor)
        zmq_close(d->monitor);
    if (d->context)
        zmq_module_release_context(d->context, SOCKETS);
    if (d->poll >= 0)
        close(d->poll);
    free(d);
    *dealer = NULL;
}

static bool add_to_poll(int poll, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    return fd >= 0 && epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int monitor(struct zmq_dealer *d)
{
    char name[64];
    snprintf(name, sizeof name, "inproc://monitor-%p", (void *)d);
    if (zmq_socket_monitor(d->socket, name, ZMQ_EVENT_ALL) != 0)
        return -1;
    d->monitor = zmq_socket(d->context, ZMQ_PAIR);
    if (!d->monitor)
        return -1;
    zmq_module_set(d->monitor, ZMQ_LINGER, 0);
    if (zmq_connect(d->monitor, name) != 0)
        return -1;
    d->poll = epoll_create1(EPOLL_CLOEXEC);
    return add_to_poll(d->poll, zmq_module_fd(d->socket)) && add_to_poll(d->poll, zmq_module_fd(d->monitor)) ? 0 : -1;
}

static enum err prepare(struct zmq_dealer *d, const struct zmq_keys *keys, char *error, size_t error_size)
{
    int64_t largest = ZMQ_MODULE_MESSAGE_MAX;
    d->context = zmq_module_context(SOCKETS);
    d->socket = d->context ? zmq_socket(d->context, ZMQ_DEALER) : NULL;
    if (!d->socket)
        return zmq_module_error(error, error_size);
    zmq_module_set(d->socket, ZMQ_LINGER, 0);
    zmq_module_set(d->socket, ZMQ_SNDHWM, WAITING_MAX);
    zmq_module_set(d->socket, ZMQ_RCVHWM, WAITING_MAX);
    zmq_module_set(d->socket, ZMQ_RECONNECT_IVL, -1);
    zmq_module_set(d->socket, ZMQ_IPV6, 1);
    zmq_setsockopt(d->socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    return zmq_module_set_keys(d->socket, keys, error, error_size);
}

/* libzmq does not report a name that cannot be resolved: it keeps trying. */
static enum err resolve(const char *address, char *error, size_t error_size)
{
    static const char tcp[] = "tcp://";
    char host[256];
    const char *colon = strrchr(address, ':'), *begin = address + sizeof tcp - 1;
    if (strncmp(address, tcp, sizeof tcp - 1) != 0 || colon <= begin || *begin == '[' || colon - begin >= (long)sizeof host)
        return OK;
    snprintf(host, sizeof host, "%.*s", (int)(colon - begin), begin);
    struct addrinfo *found = NULL, hints = { .ai_socktype = SOCK_STREAM };
    int result = getaddrinfo(host, NULL, &hints, &found);
    if (found)
        freeaddrinfo(found);
    if (!result)
        return OK;
    snprintf(error, error_size, "cannot resolve host name %s: %s", host, gai_strerror(result));
    return ABSENT;
}

enum err zmq_dealer_open(struct zmq_dealer **dealer, const char *address, const struct zmq_keys *keys, char *error,
                         size_t error_size)
{
    struct zmq_dealer *d = *dealer = calloc(1, sizeof *d);
    if (!d)
        return NOMEM;
    d->poll = -1;
    enum err err = resolve(address, error, error_size);
    if (!err)
        err = prepare(d, keys, error, error_size);
    if (!err && (monitor(d) != 0 || zmq_connect(d->socket, address) != 0))
        err = zmq_module_error(error, error_size);
    if (err)
        zmq_dealer_close(dealer);
    return err;
}

int zmq_dealer_fd(const struct zmq_dealer *dealer)
{
    return dealer->poll;
}

enum err zmq_dealer_send(struct zmq_dealer *dealer, struct bytes message)
{
    return zmq_module_send(dealer->socket, message);
}

enum err zmq_dealer_next(struct zmq_dealer *dealer, struct buf *message)
{
    return zmq_module_next(dealer->socket, message);
}

static void set_down(struct zmq_dealer *d, const char *error)
{
    if (!*d->error)
        snprintf(d->error, sizeof d->error, "%s", error);
    d->state = DOWN;
}

static void disconnected(struct zmq_dealer *d)
{
    switch (d->state) {
    case CONNECTING: set_down(d, "connection failed"); break;
    case HANDSHAKING: set_down(d, "it closed the connection during the handshake; check that it authorizes our key"); break;
    default: set_down(d, "it closed the connection");
    }
}

static void handle_event(struct zmq_dealer *d, uint16_t event)
{
    switch (event) {
    case ZMQ_EVENT_CONNECTED: d->state = HANDSHAKING; break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: d->state = UP; break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: set_down(d, "it does not authorize our key"); break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        set_down(d, "handshake failed: only one side uses encryption, or its key is not the one configured here");
        break;
    case ZMQ_EVENT_CLOSED:
    case ZMQ_EVENT_DISCONNECTED: disconnected(d); break;
    default: break;
    }
}

/* An event has two parts: number and value, and the address. */
static bool next_event(struct zmq_dealer *d)
{
    uint8_t head[6];
    uint16_t event = 0;
    int size = zmq_recv(d->monitor, head, sizeof head, ZMQ_DONTWAIT), more = 0;
    size_t more_size = sizeof more;
    if (size < 0)
        return false;
    if ((size_t)size >= sizeof event)
        memcpy(&event, head, sizeof event);
    while (zmq_getsockopt(d->monitor, ZMQ_RCVMORE, &more, &more_size) == 0 && more)
        if (zmq_recv(d->monitor, NULL, 0, ZMQ_DONTWAIT) < 0)
            break;
    handle_event(d, event);
    return true;
}

bool zmq_dealer_is_up(struct zmq_dealer *dealer, char *error, size_t error_size)
{
    while (next_event(dealer))
        ;
    snprintf(error, error_size, "%s", dealer->error);
    return dealer->state == UP;
}
