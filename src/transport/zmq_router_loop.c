/* The thread of a router: accepts connections, reads and decrypts messages, and writes what its owner sends. A
 * connection needs almost no memory between two messages: all are read through one buffer. */
#include "transport/zmq_router.h"

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
#define ACCEPTED_MAX 64 /* per turn, so that other peers are served too */
#define UNOPENED_MAX 4096 /* connections of one address that have not completed the handshake */
#define BUFFER_MAX ((size_t)128 << 20)
#define BUFFER_KEPT ((size_t)1 << 20)
#define UNREAD_MAX ((size_t)1 << 20) /* bytes queued for a peer that does not read before it is disconnected */
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

static void set_events(struct zmq_router *r, int action, int fd, uint64_t what, uint32_t events)
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

/* Asks the authorizer, and stores the host name that the key belongs to. */
static bool authorize(void *context, struct zmtp *peer, const uint8_t *public_key)
{
    struct zmq_router *r = context;
    struct zmq_connection *c = (struct zmq_connection *)peer; /* its first member */
    char name[256] = "";
    if (public_key && !zmq_z85_encode(c->key, public_key, CURVE_KEY))
        return false;
    if (!r->authorizer.authorize)
        return true;
    if (!r->authorizer.authorize(r->authorizer.context, public_key ? c->key : NULL, c->address, name))
        return false;
    c->name = strdup(name);
    return c->name;
}

static enum err add_received(void *context, struct zmtp *peer, struct bytes message)
{
    struct zmq_router *r = context;
    struct zmq_received received = { (struct zmq_connection *)peer, message.size };
    if (!buf_reserve(&r->fresh, sizeof received + message.size)) {
        r->fresh.failed = r->fresh.full = false;
        return NOMEM;
    }
    buf_add(&r->fresh, &received, sizeof received);
    buf_add(&r->fresh, message.data, message.size);
    atomic_fetch_add(&received.from->holders, 1);
    return OK;
}

/* Passes what was read in this turn to the owner. If there is no memory, nothing is lost: it stays in fresh. */
static void publish(struct zmq_router *r)
{
    uint64_t one = 1;
    if (!r->fresh.size)
        return;
    pthread_mutex_lock(&r->lock);
    bool was_empty = !r->incoming.size;
    if (was_empty) {
        struct buf empty = r->incoming;
        r->incoming = r->fresh;
        r->fresh = empty;
        buf_reset(&r->fresh);
    } else if (buf_reserve(&r->incoming, r->fresh.size)) {
        buf_add(&r->incoming, r->fresh.data, r->fresh.size);
        buf_reset(&r->fresh);
    } else
        r->incoming.failed = r->incoming.full = false; /* retried in the next turn */
    r->is_full = r->incoming.size > ROUTER_INCOMING_BYTES;
    if (was_empty)
        (void)!write(r->news_fd, &one, sizeof one);
    pthread_mutex_unlock(&r->lock);
    if (!r->fresh.size && r->fresh.capacity > BUFFER_KEPT)
        buf_clear(&r->fresh);
}

/* false: disconnected. */
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

static void update_events(struct zmq_router *r, const struct zmq_connection *c)
{
    set_events(r, EPOLL_CTL_MOD, c->fd, c->slot, EPOLLIN | (c->out.size ? EPOLLOUT : 0));
}

/* Sends what is in router->out. false: disconnected, or the peer does not read. */
static bool write_out(struct zmq_router *r, struct zmq_connection *c)
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
        update_events(r, c);
    return !c->out.failed;
}

/* false: disconnect it. */
static bool continue_writing(struct zmq_router *r, struct zmq_connection *c)
{
    if (!write_some(c, c->out.data, c->out.size, &c->written))
        return false;
    if (c->written < c->out.size)
        return true;
    buf_clear(&c->out);
    c->written = 0;
    update_events(r, c);
    return !c->is_ending || shutdown(c->fd, SHUT_WR) == 0;
}

/* Closing with unread input would reset the connection and could lose the error message in out: ignore input until the
 * peer closes. */
static bool close_after_output(struct zmq_connection *c)
{
    c->is_ending = true;
    return c->out.size || shutdown(c->fd, SHUT_WR) == 0;
}

static bool receive(struct zmq_router *r, struct zmq_connection *c)
{
    ssize_t size = recv(c->fd, r->input, sizeof r->input, MSG_DONTWAIT);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR;
    if (size == 0 || c->is_ending)
        return size > 0;
    buf_reset(&r->out);
    enum err err = zmtp_receive(&r->server, &c->zmtp, (struct bytes){ (const char *)r->input, (size_t)size }, &r->out);
    if (err && err != DENIED)
        return false;
    if (r->out.size && !write_out(r, c))
        return false;
    return err ? close_after_output(c) : true;
}

static void handle_event(struct zmq_router *r, uint32_t slot, uint32_t events)
{
    struct zmq_connection *c = slot < r->slot_capacity ? r->slots[slot] : NULL;
    if (!c)
        return;
    if (events & EPOLLOUT && c->out.size && !continue_writing(r, c))
        disconnect(r, c);
    else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !receive(r, c))
        disconnect(r, c);
}

/* The kernel detects dead connections within two minutes. */
static void keep_alive(int fd)
{
    const struct { int level, option, value; } all[] = {
        { IPPROTO_TCP, TCP_NODELAY, 1 }, { SOL_SOCKET, SO_KEEPALIVE, 1 }, { IPPROTO_TCP, TCP_KEEPIDLE, 60 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 15 }, { IPPROTO_TCP, TCP_KEEPCNT, 4 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        setsockopt(fd, all[i].level, all[i].option, &all[i].value, sizeof all[i].value);
}

static void format_address(const struct sockaddr_storage *from, char text[ROUTER_ADDRESS_MAX])
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
    uint32_t capacity = r->slot_capacity ? r->slot_capacity * 2 : 64;
    if (r->free_count)
        return true;
    if (array_resize(r->free_slots, capacity))
        return false;
    pthread_mutex_lock(&r->lock);
    enum err err = array_resize(r->slots, capacity);
    if (!err) {
        memset(r->slots + r->slot_capacity, 0, (capacity - r->slot_capacity) * sizeof *r->slots);
        for (uint32_t i = capacity; i-- > r->slot_capacity;)
            r->free_slots[r->free_count++] = i;
        r->slot_capacity = capacity;
    }
    pthread_mutex_unlock(&r->lock);
    return !err;
}

/* Somebody without a key may open connections as fast as they are closed: an address with many loses its oldest one. */
static void limit_unopened(struct zmq_router *r, const char *address)
{
    struct zmq_connection *oldest = NULL;
    size_t count = 0;
    if (++r->unopened <= UNOPENED_MAX || !*address)
        return;
    for (uint32_t i = 0; i < r->slot_capacity; i++) {
        struct zmq_connection *c = r->slots[i];
        if (!c || c->zmtp.state == ZMTP_OPEN || strcmp(c->address, address) != 0)
            continue;
        count++;
        oldest = !oldest || c->since_ns < oldest->since_ns ? c : oldest;
    }
    if (count > UNOPENED_MAX)
        disconnect(r, oldest);
}

static void add_connection(struct zmq_router *r, int fd, const struct sockaddr_storage *from)
{
    struct zmq_connection *c = grow_slots(r) ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    keep_alive(fd);
    format_address(from, c->address);
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
    set_events(r, EPOLL_CTL_ADD, fd, c->slot, EPOLLIN);
    limit_unopened(r, c->address);
    if (!write_out(r, c))
        disconnect(r, c);
}

static void set_accepting(struct zmq_router *r, bool is_paused)
{
    r->is_paused = is_paused;
    for (size_t i = 0; i < r->listener_count; i++)
        set_events(r, EPOLL_CTL_MOD, r->listeners[i], IS_LISTENER + i, is_paused ? 0 : EPOLLIN);
}

static void accept_some(struct zmq_router *r, size_t listener)
{
    for (int i = 0; i < ACCEPTED_MAX; i++) {
        struct sockaddr_storage from = { 0 };
        socklen_t size = sizeof from;
        int fd = accept4(r->listeners[listener], (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            add_connection(r, fd, &from);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            set_accepting(r, true);
        return;
    }
}

/* A message for a peer that has disconnected meanwhile is dropped. */
static void send_one(struct zmq_router *r, const struct zmq_outgoing *outgoing, struct bytes message)
{
    struct zmq_connection *c = r->slots[outgoing->slot];
    if (!c || c->serial != outgoing->serial || c->is_ending || c->zmtp.state != ZMTP_OPEN)
        return;
    buf_reset(&r->out);
    zmtp_send(&r->server, &c->zmtp, message, &r->out);
    if (!write_out(r, c))
        disconnect(r, c);
}

static void send_all(struct zmq_router *r)
{
    struct zmq_outgoing outgoing;
    pthread_mutex_lock(&r->lock);
    struct buf empty = r->sending;
    r->sending = r->outgoing;
    r->outgoing = empty;
    pthread_mutex_unlock(&r->lock);
    for (size_t at = 0; at < r->sending.size; at += outgoing.size) {
        memcpy(&outgoing, r->sending.data + at, sizeof outgoing);
        at += sizeof outgoing;
        send_one(r, &outgoing, (struct bytes){ r->sending.data + at, outgoing.size });
    }
    buf_reset(&r->sending);
    if (r->sending.capacity > BUFFER_KEPT)
        buf_clear(&r->sending);
}

/* Once a second: disconnects peers that do not complete the handshake. */
static void check_connections(struct zmq_router *r)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - r->checked_ns < NS_PER_S)
        return;
    r->checked_ns = now_ns;
    r->unopened = 0;
    for (uint32_t i = 0; i < r->slot_capacity; i++) {
        struct zmq_connection *c = r->slots[i];
        if (c && (c->is_ending || c->zmtp.state != ZMTP_OPEN) && now_ns - c->since_ns > HANDSHAKE_NS)
            disconnect(r, c);
        else if (c)
            r->unopened += c->zmtp.state != ZMTP_OPEN;
    }
    if (r->is_paused)
        set_accepting(r, false);
}

static bool read_state(struct zmq_router *r, bool *is_full)
{
    pthread_mutex_lock(&r->lock);
    bool is_stopping = r->is_stopping;
    *is_full = r->is_full;
    pthread_mutex_unlock(&r->lock);
    return !is_stopping;
}

static void handle_events(struct zmq_router *r, const struct epoll_event *events, int count)
{
    uint64_t ignored;
    for (int i = 0; i < count; i++) {
        uint64_t what = events[i].data.u64;
        if (what == IS_WAKE)
            (void)!read(r->wake_fd, &ignored, sizeof ignored);
        else if (what >= IS_LISTENER)
            accept_some(r, what - IS_LISTENER);
        else
            handle_event(r, (uint32_t)what, events[i].events);
    }
}

/* While the owner is behind, nothing is read, so that TCP slows the peers down. */
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

void *zmq_router_loop_run(void *router)
{
    struct zmq_router *r = router;
    struct epoll_event events[EVENTS];
    bool is_full = false;
    set_events(r, EPOLL_CTL_ADD, r->wake_fd, IS_WAKE, EPOLLIN);
    for (size_t i = 0; i < r->listener_count; i++)
        set_events(r, EPOLL_CTL_ADD, r->listeners[i], IS_LISTENER + i, EPOLLIN);
    while (read_state(r, &is_full)) {
        int count = wait_for_events(r, is_full, events);
        handle_events(r, events, count);
        publish(r);
        send_all(r);
        check_connections(r);
    }
    send_all(r);
    return NULL;
}

enum err zmq_router_loop_init(struct zmq_router *r)
{
    if (!zmtp_server_init(&r->server, ZMQ_MODULE_MESSAGE_MAX))
        return IO;
    r->server.authorize = authorize;
    r->server.take = add_received;
    r->server.context = r;
    buf_init(&r->fresh, BUFFER_MAX);
    buf_init(&r->sending, BUFFER_MAX);
    buf_init(&r->out, (size_t)ZMQ_MODULE_MESSAGE_MAX * 2);
    r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return r->epoll_fd < 0 ? err_from_errno(errno) : OK;
}

void zmq_router_loop_clear(struct zmq_router *r)
{
    for (uint32_t i = 0; i < r->slot_capacity; i++)
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
