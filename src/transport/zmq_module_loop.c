/* The thread of a router: lets peers in, reads what they say, opens it, and writes what its owner has for them. Between two
 * messages a connection holds next to nothing: all of them are read through one buffer. */
#include "transport/zmq_module_router.h"

#include "base/clock.h"
#include "base/vec.h"
#include "transport/zmq_module.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define EVENTS 256
#define ACCEPTED_MAX 64 /* in one turn, so that the others are heard too */
#define BUFFER_MAX ((size_t)128 << 20)
#define BUFFER_KEPT ((size_t)1 << 20)
#define UNREAD_MAX ((size_t)1 << 20) /* bytes for a peer that does not read: he may come again */
#define HANDSHAKE_NS (30 * NS_PER_S)
#define IS_LISTENER ((uint64_t)1 << 32)
#define IS_WAKE ((uint64_t)2 << 32)

void zmq_connection_release(struct zmq_connection *connection)
{
    if (atomic_fetch_sub(&connection->holders, 1) != 1)
        return;
    zmtp_clear(&connection->zmtp);
    buf_clear(&connection->out);
    free(connection->name);
    free(connection);
}

static void watch(struct zmq_router *r, int action, int fd, uint64_t what, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.u64 = what };
    epoll_ctl(r->epoll_fd, action, fd, &event);
}

static void disconnect(struct zmq_router *r, struct zmq_connection *c)
{
    close(c->fd);
    pthread_mutex_lock(&r->lock);
    r->slots[c->slot] = NULL;
    pthread_mutex_unlock(&r->lock);
    r->free_slots[r->free_count++] = c->slot;
    zmq_connection_release(c);
}

/* From the gate: who he is. */
static bool allows(void *context, struct zmtp *peer, const uint8_t *public_key)
{
    struct zmq_router *r = context;
    struct zmq_connection *c = (struct zmq_connection *)peer; /* its first member */
    char name[256] = "";
    if (public_key && !zmq_z85_encode(c->key, public_key, CURVE_KEY))
        return false;
    if (!r->gate.allows)
        return true;
    if (!r->gate.allows(r->gate.context, public_key ? c->key : NULL, c->address, name))
        return false;
    c->name = strdup(name);
    return c->name;
}

static enum err arrive(void *context, struct zmtp *peer, struct bytes message)
{
    struct zmq_router *r = context;
    struct zmq_arrival arrival = { (struct zmq_connection *)peer, message.size };
    if (!buf_reserve(&r->fresh, sizeof arrival + message.size)) {
        r->fresh.failed = r->fresh.full = false;
        return NOMEM;
    }
    buf_add(&r->fresh, &arrival, sizeof arrival);
    buf_add(&r->fresh, message.data, message.size);
    atomic_fetch_add(&arrival.from->holders, 1);
    return OK;
}

/* What was read in this turn is for the owner. A connection whose messages find no room would tell nobody: so there is. */
static void publish(struct zmq_router *r)
{
    uint64_t one = 1;
    if (!r->fresh.size)
        return;
    pthread_mutex_lock(&r->lock);
    bool was_empty = !r->waiting.size;
    if (was_empty) {
        struct buf empty = r->waiting;
        r->waiting = r->fresh;
        r->fresh = empty;
        buf_reset(&r->fresh);
    } else if (buf_reserve(&r->waiting, r->fresh.size)) {
        buf_add(&r->waiting, r->fresh.data, r->fresh.size);
        buf_reset(&r->fresh);
    } else
        r->waiting.failed = r->waiting.full = false; /* in the next turn */
    r->is_full = r->waiting.size > ROUTER_WAITING_BYTES;
    if (was_empty)
        (void)!write(r->news_fd, &one, sizeof one);
    pthread_mutex_unlock(&r->lock);
    if (!r->fresh.size && r->fresh.room > BUFFER_KEPT)
        buf_clear(&r->fresh);
}

/* False: he is not there any more. */
static bool write_some(struct zmq_connection *c, const char *data, size_t size, size_t *written)
{
    while (*written < size) {
        ssize_t put = send(c->fd, data + *written, size - *written, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        *written += (size_t)put;
    }
    return true;
}

static void watch_writes(struct zmq_router *r, const struct zmq_connection *c)
{
    watch(r, EPOLL_CTL_MOD, c->fd, c->slot, EPOLLIN | (c->out.size ? EPOLLOUT : 0));
}

/* Sends what stands in router->out. False: he is not there any more, or does not read. */
static bool put_out(struct zmq_router *r, struct zmq_connection *c)
{
    size_t written = 0;
    if (r->out.failed)
        return false;
    if (!c->out.size && !write_some(c, r->out.data, r->out.size, &written))
        return false;
    if (written == r->out.size)
        return true;
    bool was_empty = !c->out.size;
    buf_add(&c->out, r->out.data + written, r->out.size - written);
    if (was_empty)
        watch_writes(r, c);
    return !c->out.failed;
}

/* False: he must go. */
static bool go_on_writing(struct zmq_router *r, struct zmq_connection *c)
{
    if (!write_some(c, c->out.data, c->out.size, &c->written))
        return false;
    if (c->written < c->out.size)
        return true;
    buf_clear(&c->out);
    c->written = 0;
    watch_writes(r, c);
    return !c->is_ending || shutdown(c->fd, SHUT_WR) == 0;
}

/* Has something to say that must not be lost by a close with unread bytes: so he is heard no more, until he goes himself. */
static bool end(struct zmq_connection *c)
{
    c->is_ending = true;
    return c->out.size || shutdown(c->fd, SHUT_WR) == 0;
}

static bool hear(struct zmq_router *r, struct zmq_connection *c)
{
    ssize_t size = recv(c->fd, r->room, sizeof r->room, MSG_DONTWAIT);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR;
    if (size == 0 || c->is_ending)
        return size > 0;
    buf_reset(&r->out);
    enum err err = zmtp_take(&r->server, &c->zmtp, (struct bytes){ (const char *)r->room, (size_t)size }, &r->out);
    if (err && err != DENIED)
        return false;
    if (r->out.size && !put_out(r, c))
        return false;
    return err ? end(c) : true;
}

static void take_event(struct zmq_router *r, uint32_t slot, uint32_t events)
{
    struct zmq_connection *c = slot < r->slot_room ? r->slots[slot] : NULL;
    if (!c)
        return;
    if (events & EPOLLOUT && c->out.size && !go_on_writing(r, c))
        disconnect(r, c);
    else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !hear(r, c))
        disconnect(r, c);
}

/* Connections that died without a word are found by the kernel, within two minutes. */
static void keep_alive(int fd)
{
    const struct { int level, option, value; } all[] = {
        { IPPROTO_TCP, TCP_NODELAY, 1 }, { SOL_SOCKET, SO_KEEPALIVE, 1 }, { IPPROTO_TCP, TCP_KEEPIDLE, 60 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 15 }, { IPPROTO_TCP, TCP_KEEPCNT, 4 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        setsockopt(fd, all[i].level, all[i].option, &all[i].value, sizeof all[i].value);
}

static void tell_address(const struct sockaddr_storage *from, char text[ROUTER_ADDRESS_MAX])
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    text[0] = '\0';
    if (from->ss_family == AF_INET)
        inet_ntop(AF_INET, &v4->sin_addr, text, ROUTER_ADDRESS_MAX);
    else if (from->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, ROUTER_ADDRESS_MAX);
    else if (from->ss_family == AF_INET6)
        inet_ntop(AF_INET6, &v6->sin6_addr, text, ROUTER_ADDRESS_MAX);
}

static bool grow_slots(struct zmq_router *r)
{
    uint32_t room = r->slot_room ? r->slot_room * 2 : 64;
    if (r->free_count)
        return true;
    if (array_resize(r->free_slots, room))
        return false;
    pthread_mutex_lock(&r->lock);
    enum err err = array_resize(r->slots, room);
    if (!err) {
        memset(r->slots + r->slot_room, 0, (room - r->slot_room) * sizeof *r->slots);
        for (uint32_t i = room; i-- > r->slot_room;)
            r->free_slots[r->free_count++] = i;
        r->slot_room = room;
    }
    pthread_mutex_unlock(&r->lock);
    return !err;
}

static void let_in(struct zmq_router *r, int fd, const struct sockaddr_storage *from)
{
    struct zmq_connection *c = grow_slots(r) ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    keep_alive(fd);
    tell_address(from, c->address);
    buf_init(&c->out, UNREAD_MAX);
    c->fd = fd;
    c->slot = r->free_slots[--r->free_count];
    c->serial = ++r->serial;
    c->since_ns = clock_monotonic_ns();
    atomic_init(&c->holders, 1);
    buf_reset(&r->out);
    zmtp_init(&c->zmtp, &r->server, &r->out);
    pthread_mutex_lock(&r->lock);
    r->slots[c->slot] = c;
    pthread_mutex_unlock(&r->lock);
    watch(r, EPOLL_CTL_ADD, fd, c->slot, EPOLLIN);
    if (!put_out(r, c))
        disconnect(r, c);
}

static void watch_listeners(struct zmq_router *r, bool is_deaf)
{
    r->is_deaf = is_deaf;
    for (size_t i = 0; i < r->listener_count; i++)
        watch(r, EPOLL_CTL_MOD, r->listeners[i], IS_LISTENER + i, is_deaf ? 0 : EPOLLIN);
}

static void accept_some(struct zmq_router *r, size_t listener)
{
    for (int i = 0; i < ACCEPTED_MAX; i++) {
        struct sockaddr_storage from = { 0 };
        socklen_t size = sizeof from;
        int fd = accept4(r->listeners[listener], (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            let_in(r, fd, &from);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            watch_listeners(r, true);
        return;
    }
}

/* Of one who has gone in the meantime nothing is said. */
static void send_one(struct zmq_router *r, const struct zmq_departure *departure, struct bytes message)
{
    struct zmq_connection *c = r->slots[departure->slot];
    if (!c || c->serial != departure->serial || c->is_ending || c->zmtp.state != ZMTP_OPEN)
        return;
    buf_reset(&r->out);
    zmtp_add(&r->server, &c->zmtp, message, &r->out);
    if (!put_out(r, c))
        disconnect(r, c);
}

static void send_all(struct zmq_router *r)
{
    struct zmq_departure departure;
    pthread_mutex_lock(&r->lock);
    struct buf empty = r->sending;
    r->sending = r->leaving;
    r->leaving = empty;
    pthread_mutex_unlock(&r->lock);
    for (size_t at = 0; at < r->sending.size; at += departure.size) {
        memcpy(&departure, r->sending.data + at, sizeof departure);
        at += sizeof departure;
        send_one(r, &departure, (struct bytes){ r->sending.data + at, departure.size });
    }
    buf_reset(&r->sending);
    if (r->sending.room > BUFFER_KEPT)
        buf_clear(&r->sending);
}

/* Once a second. */
static void tend(struct zmq_router *r)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - r->tended_ns < NS_PER_S)
        return;
    r->tended_ns = now_ns;
    for (uint32_t i = 0; i < r->slot_room; i++) {
        struct zmq_connection *c = r->slots[i];
        if (c && (c->is_ending || c->zmtp.state != ZMTP_OPEN) && now_ns - c->since_ns > HANDSHAKE_NS)
            disconnect(r, c);
    }
    if (r->is_deaf)
        watch_listeners(r, false);
}

static bool read_state(struct zmq_router *r, bool *is_full)
{
    pthread_mutex_lock(&r->lock);
    bool is_stopping = r->is_stopping;
    *is_full = r->is_full;
    pthread_mutex_unlock(&r->lock);
    return !is_stopping;
}

static void take_events(struct zmq_router *r, const struct epoll_event *events, int count)
{
    uint64_t ignored;
    for (int i = 0; i < count; i++) {
        uint64_t what = events[i].data.u64;
        if (what == IS_WAKE)
            (void)!read(r->wake_fd, &ignored, sizeof ignored);
        else if (what >= IS_LISTENER)
            accept_some(r, what - IS_LISTENER);
        else
            take_event(r, (uint32_t)what, events[i].events);
    }
}

/* While the owner has too much before him, nothing is read: then the peers wait, which is what TCP is for. */
static int wait_for_events(struct zmq_router *r, bool is_full, struct epoll_event events[EVENTS])
{
    struct pollfd wake = { .fd = r->wake_fd, .events = POLLIN };
    uint64_t ignored;
    if (!is_full)
        return epoll_wait(r->epoll_fd, events, EVENTS, 1000);
    if (poll(&wake, 1, 1000) > 0)
        (void)!read(r->wake_fd, &ignored, sizeof ignored);
    return 0;
}

void *zmq_loop_run(void *router)
{
    struct zmq_router *r = router;
    struct epoll_event events[EVENTS];
    bool is_full = false;
    watch(r, EPOLL_CTL_ADD, r->wake_fd, IS_WAKE, EPOLLIN);
    for (size_t i = 0; i < r->listener_count; i++)
        watch(r, EPOLL_CTL_ADD, r->listeners[i], IS_LISTENER + i, EPOLLIN);
    while (read_state(r, &is_full)) {
        int count = wait_for_events(r, is_full, events);
        take_events(r, events, count);
        publish(r);
        send_all(r);
        tend(r);
    }
    send_all(r);
    return NULL;
}

enum err zmq_loop_prepare(struct zmq_router *r)
{
    if (!zmtp_server_init(&r->server, ZMQ_MODULE_MESSAGE_MAX))
        return IO;
    r->server.allows = allows;
    r->server.take = arrive;
    r->server.context = r;
    buf_init(&r->fresh, BUFFER_MAX);
    buf_init(&r->sending, BUFFER_MAX);
    buf_init(&r->out, (size_t)ZMQ_MODULE_MESSAGE_MAX * 2);
    r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return r->epoll_fd < 0 ? err_from_errno(errno) : OK;
}

void zmq_loop_clear(struct zmq_router *r)
{
    for (uint32_t i = 0; i < r->slot_room; i++)
        if (r->slots[i])
            disconnect(r, r->slots[i]);
    free(r->slots);
    free(r->free_slots);
    buf_clear(&r->fresh);
    buf_clear(&r->sending);
    buf_clear(&r->out);
    zmtp_server_clear(&r->server);
    if (r->epoll_fd >= 0)
        close(r->epoll_fd);
}
