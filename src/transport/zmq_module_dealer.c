/* DEALER: one connection to one collector. It never connects again by itself: whoever has it sees that it is down, and opens
 * another. What happens to the connection comes from libzmq's monitor. */
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
#define WHY_MAX 128

enum state { CONNECTING, HANDSHAKING, UP, DOWN };

struct zmq_dealer {
    void *context, *socket, *monitor;
    int poll; /* both sockets' descriptors in one */
    enum state state;
    char why[WHY_MAX];
};

void dealer_close(struct zmq_dealer **dealer)
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
        zmq_module_leave(d->context, SOCKETS);
    if (d->poll >= 0)
        close(d->poll);
    free(d);
    *dealer = NULL;
}

static bool watch(int poll, int fd)
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
    return watch(d->poll, zmq_module_fd(d->socket)) && watch(d->poll, zmq_module_fd(d->monitor)) ? 0 : -1;
}

static enum err prepare(struct zmq_dealer *d, const struct zmq_keys *keys, char *why, size_t why_size)
{
    int64_t largest = ZMQ_MODULE_MESSAGE_MAX;
    d->context = zmq_module_context(SOCKETS);
    d->socket = d->context ? zmq_socket(d->context, ZMQ_DEALER) : NULL;
    if (!d->socket)
        return zmq_module_fail(why, why_size);
    zmq_module_set(d->socket, ZMQ_LINGER, 0);
    zmq_module_set(d->socket, ZMQ_SNDHWM, WAITING_MAX);
    zmq_module_set(d->socket, ZMQ_RCVHWM, WAITING_MAX);
    zmq_module_set(d->socket, ZMQ_RECONNECT_IVL, -1);
    zmq_module_set(d->socket, ZMQ_IPV6, 1);
    zmq_setsockopt(d->socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    return zmq_module_protect(d->socket, keys, why, why_size);
}

/* libzmq says nothing of a name that nobody knows: it goes on trying. */
static enum err look_up(const char *address, char *why, size_t why_size)
{
    static const char tcp[] = "tcp://";
    char host[256];
    const char *colon = strrchr(address, ':'), *begin = address + sizeof tcp - 1;
    if (strncmp(address, tcp, sizeof tcp - 1) != 0 || colon <= begin || *begin == '[' || colon - begin >= (long)sizeof host)
        return OK;
    snprintf(host, sizeof host, "%.*s", (int)(colon - begin), begin);
    struct addrinfo *found = NULL, hints = { .ai_socktype = SOCK_STREAM };
    int error = getaddrinfo(host, NULL, &hints, &found);
    if (found)
        freeaddrinfo(found);
    if (!error)
        return OK;
    snprintf(why, why_size, "the name %s cannot be resolved: %s", host, gai_strerror(error));
    return ABSENT;
}

enum err dealer_open(struct zmq_dealer **dealer, const char *address, const struct zmq_keys *keys, char *why, size_t why_size)
{
    struct zmq_dealer *d = *dealer = calloc(1, sizeof *d);
    if (!d)
        return NOMEM;
    d->poll = -1;
    enum err err = look_up(address, why, why_size);
    if (!err)
        err = prepare(d, keys, why, why_size);
    if (!err && (monitor(d) != 0 || zmq_connect(d->socket, address) != 0))
        err = zmq_module_fail(why, why_size);
    if (err)
        dealer_close(dealer);
    return err;
}

int dealer_fd(const struct zmq_dealer *dealer)
{
    return dealer->poll;
}

enum err dealer_send(struct zmq_dealer *dealer, struct bytes message)
{
    return zmq_module_send(dealer->socket, message);
}

enum err dealer_next(struct zmq_dealer *dealer, struct buf *message)
{
    return zmq_module_next(dealer->socket, message);
}

static void down(struct zmq_dealer *d, const char *why)
{
    if (!*d->why)
        snprintf(d->why, sizeof d->why, "%s", why);
    d->state = DOWN;
}

static void disconnected(struct zmq_dealer *d)
{
    switch (d->state) {
    case CONNECTING: down(d, "nobody answers there"); break;
    case HANDSHAKING: down(d, "it closed the connection in the handshake: is our key among those that it allows?"); break;
    default: down(d, "it closed the connection");
    }
}

static void take_event(struct zmq_dealer *d, uint16_t event)
{
    switch (event) {
    case ZMQ_EVENT_CONNECTED: d->state = HANDSHAKING; break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: d->state = UP; break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: down(d, "it does not let our key in"); break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        down(d, "the handshake failed: one side is encrypted and the other not, or its key is not the one that we were given");
        break;
    case ZMQ_EVENT_CLOSED:
    case ZMQ_EVENT_DISCONNECTED: disconnected(d); break;
    default: break;
    }
}

/* An event has two parts: its number with a value, and the address. */
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
    take_event(d, event);
    return true;
}

bool dealer_is_up(struct zmq_dealer *dealer, char *why, size_t why_size)
{
    while (next_event(dealer))
        ;
    snprintf(why, why_size, "%s", dealer->why);
    return dealer->state == UP;
}
