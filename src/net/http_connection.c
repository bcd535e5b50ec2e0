/* A connection reads a request, sends the answer, and reads again. Each state has a deadline. */
#include "net/http_connection.h"

#include "base/clock.h"
#include "base/map.h"
#include "net/fd_pass.h"
#include "net/http_head.h"
#include "net/tcp_user.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define SEND_MAX (256u << 10)     /* per call, so that others are served too */
#define SPARE_MAX (256u << 10)    /* larger buffers are not reused for the next answer */
#define LINGER_NS (2 * NS_PER_S)

enum state {
    READING,
    WAITING, /* the request is complete, but there is no memory for its answer */
    SENDING,
    LINGERING, /* everything is sent; the client closes first, otherwise it could lose the answer */
};

struct http_connection {
    struct http_event_source source; /* fd -1: closed, freed by http_connection_sweep */
    struct http_connection *next;
    struct http_peer peer;
    uint64_t owner; /* whose share of the connections it takes: a uid, or an address */
    enum state state;
    bool is_last, sent_continue, has_ended; /* has_ended: the client has shut down its side */
    uint64_t since_ns, until_ns;
    uint64_t taken_ns;     /* when the client last received something */
    uint32_t events;       /* registered with epoll */
    int received_fd;         /* file received with the current request; -1: none */
    struct buf in;
    char head[HTTP_HEAD_BYTES_MAX];
    size_t head_size, sent;
    struct buf body;
};

static size_t unsent(const struct http_connection *c)
{
    return c->state == SENDING ? c->head_size + c->body.size - c->sent : 0;
}

static void drop_body(struct http_pool *pool, struct http_connection *c)
{
    pool->answer_bytes -= c->body.size;
    c->body.size = 0;
    if (c->body.capacity <= SPARE_MAX && pool->spare.capacity == 0) {
        pool->spare = c->body;
        c->body = (struct buf){ 0 };
    }
    buf_clear(&c->body);
}

static void drop_received_fd(struct http_connection *c)
{
    if (c->received_fd >= 0)
        close(c->received_fd);
    c->received_fd = -1;
}

/* Freed later: a pending event may point to it. */
static void connection_close(struct http_pool *pool, struct http_connection *c)
{
    if (c->source.fd < 0)
        return;
    drop_body(pool, c);
    drop_received_fd(c);
    buf_clear(&c->in);
    close(c->source.fd);
    c->source.fd = -1;
    pool->counts[c->peer.is_local]--;
}

static void set_events(struct http_pool *pool, struct http_connection *c, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = &c->source };
    if (c->events != events && epoll_ctl(pool->epoll_fd, EPOLL_CTL_MOD, c->source.fd, &event) < 0)
        connection_close(pool, c);
    c->events = events;
}

static void enter(struct http_pool *pool, struct http_connection *c, enum state state, uint64_t for_ns)
{
    c->state = state;
    c->since_ns = c->taken_ns = clock_monotonic_ns();
    c->until_ns = c->since_ns + for_ns;
    set_events(pool, c, state == SENDING ? EPOLLOUT : state == WAITING ? 0 : EPOLLIN);
}

#define ANYBODY UINT64_MAX

/* The connection of this owner that has been in this state longest; NULL: none. */
static struct http_connection *oldest(const struct http_pool *pool, enum state state, bool is_local, uint64_t owner)
{
    struct http_connection *best = NULL;
    for (struct http_connection *c = pool->connections; c; c = c->next)
        if (c->source.fd >= 0 && c->state == state && c->peer.is_local == is_local && (owner == ANYBODY || c->owner == owner))
            if (!best || c->since_ns < best->since_ns)
                best = c;
    return best;
}

static size_t count_of(const struct http_pool *pool, bool is_local, uint64_t owner)
{
    size_t count = 0;
    for (const struct http_connection *c = pool->connections; c; c = c->next)
        count += c->source.fd >= 0 && c->peer.is_local == is_local && c->owner == owner;
    return count;
}

/* Who has most connections: a user who opens many loses only their own. */
static uint64_t largest_owner(const struct http_pool *pool, bool is_local)
{
    uint64_t owner = ANYBODY;
    size_t most = 0, count;
    for (const struct http_connection *c = pool->connections; c; c = c->next)
        if (c->source.fd >= 0 && c->peer.is_local == is_local && c->owner != owner
            && (count = count_of(pool, is_local, c->owner)) > most) {
            most = count;
            owner = c->owner;
        }
    return owner;
}

/* The connection to close for a new one: idle ones before those that receive an answer. */
static struct http_connection *connection_to_close(const struct http_pool *pool, bool is_local)
{
    uint64_t owner = largest_owner(pool, is_local);
    struct http_connection *c = oldest(pool, READING, is_local, owner);
    c = c ? c : oldest(pool, LINGERING, is_local, owner);
    c = c ? c : oldest(pool, SENDING, is_local, owner);
    return c ? c : oldest(pool, WAITING, is_local, owner);
}

static bool is_full(const struct http_pool *pool)
{
    return pool->answer_bytes >= pool->limits.answer_bytes;
}

/* When a client that receives an answer counts as slow and can be closed for others that wait. */
static uint64_t slow_ns(const struct http_pool *pool, const struct http_connection *c)
{
    uint64_t stalled_ns = c->taken_ns + pool->limits.stall_ns, late_ns = c->since_ns + pool->limits.share_ns;
    return stalled_ns < late_ns ? stalled_ns : late_ns;
}

/* The slow connection that started first, TCP before UNIX sockets; NULL: none is slow. */
static struct http_connection *slowest(const struct http_pool *pool, uint64_t now_ns)
{
    struct http_connection *best = NULL;
    for (struct http_connection *c = pool->connections; c; c = c->next) {
        if (c->source.fd < 0 || c->state != SENDING || slow_ns(pool, c) > now_ns)
            continue;
        bool is_other = best && best->peer.is_local != c->peer.is_local;
        if (!best || (is_other ? best->peer.is_local : c->since_ns < best->since_ns))
            best = c;
    }
    return best;
}

static void end_answer(struct http_pool *pool, struct http_connection *c)
{
    drop_body(pool, c);
    if (!c->is_last) {
        enter(pool, c, READING, c->in.size > 0 ? pool->limits.request_ns : pool->limits.idle_ns);
        if (c->in.size > 0 && c->source.fd >= 0)
            set_events(pool, c, EPOLLIN | EPOLLOUT); /* the next request is already here: get an event at once */
        return;
    }
    if (c->has_ended || shutdown(c->source.fd, SHUT_WR) < 0)
        connection_close(pool, c);
    else
        enter(pool, c, LINGERING, LINGER_NS);
}

static void send_some(struct http_pool *pool, struct http_connection *c)
{
    struct iovec parts[2];
    struct msghdr message = { .msg_iov = parts };
    if (c->sent < c->head_size)
        parts[message.msg_iovlen++] = (struct iovec){ c->head + c->sent, c->head_size - c->sent };
    size_t at = c->sent > c->head_size ? c->sent - c->head_size : 0, rest = c->body.size - at;
    if (rest > 0)
        parts[message.msg_iovlen++] = (struct iovec){ c->body.data + at, rest < SEND_MAX ? rest : SEND_MAX };
    ssize_t sent = sendmsg(c->source.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent < 0) {
        connection_close(pool, c);
        return;
    }
    c->sent += (size_t)sent;
    c->taken_ns = clock_monotonic_ns();
    if (unsent(c) == 0)
        end_answer(pool, c);
}

static void begin_answer(struct http_pool *pool, struct http_connection *c, struct http_answer *answer, bool is_head)
{
    if (buf_err(&answer->body)) {
        buf_reset(&answer->body);
        answer->status = 503;
        answer->type = "text/plain; charset=utf-8";
    }
    c->head_size = http_head_write(c->head, answer, c->is_last);
    c->body = answer->body;
    c->sent = 0;
    pool->answer_bytes += c->body.size;
    if (is_head) { /* HEAD: only the length is sent */
        pool->answer_bytes -= c->body.size;
        c->body.size = 0;
    }
    enter(pool, c, SENDING, pool->limits.answer_ns);
    if (c->source.fd >= 0)
        send_some(pool, c);
}

static struct http_answer answer_new(struct http_pool *pool)
{
    struct http_answer answer = { .status = 200, .type = "text/plain; charset=utf-8", .body = pool->spare };
    pool->spare = (struct buf){ 0 };
    if (answer.body.capacity == 0)
        buf_init(&answer.body, HTTP_ANSWER_MAX);
    buf_reset(&answer.body);
    return answer;
}

static void refuse(struct http_pool *pool, struct http_connection *c, int status)
{
    struct http_answer answer = answer_new(pool);
    answer.status = status;
    buf_printf(&answer.body, "%d %s\n", status, http_head_reason(status));
    c->is_last = true;
    drop_received_fd(c);
    buf_clear(&c->in);
    begin_answer(pool, c, &answer, false);
}

static void take_request(struct http_pool *pool, struct http_connection *c, struct http_request *request)
{
    struct http_answer answer = answer_new(pool);
    size_t size = request->head_size + request->body_size;
    bool is_head = request->method == HTTP_HEAD;
    request->body = (struct bytes){ c->in.data + request->head_size, request->body_size };
    request->peer = c->peer;
    request->connection_fd = c->source.fd;
    request->fd = c->received_fd;
    c->is_last = !request->keep_alive || c->has_ended;
    c->sent_continue = false;
    pool->handler.answer(pool->handler.context, request, &answer);
    drop_received_fd(c);
    memmove(c->in.data, c->in.data + size, c->in.size - size);
    c->in.size -= size;
    if (c->in.size == 0)
        buf_clear(&c->in); /* idle connections have no buffer */
    begin_answer(pool, c, &answer, is_head);
}

/* From a browser of this node, on behalf of a web page: see http_request_is_for. */
static bool is_misdirected(const struct http_connection *c, const struct http_request *request)
{
    char name[256] = "";
    if (c->peer.is_local || !c->peer.is_same_node || gethostname(name, sizeof name - 1))
        return false;
    return !http_request_is_for(request->host, name);
}

/* Handles the request if it is complete. */
static void handle_input(struct http_pool *pool, struct http_connection *c)
{
    struct http_request request;
    int status;
    enum err err = http_request_parse((struct bytes){ c->in.data, c->in.size }, &request, &status);
    if (err == CORRUPT) {
        refuse(pool, c, status);
        return;
    }
    if (err == OK && is_misdirected(c, &request)) {
        refuse(pool, c, 421);
        return;
    }
    if (err == OK && c->in.size >= request.head_size + request.body_size) {
        if (is_full(pool))
            enter(pool, c, WAITING, pool->limits.answer_ns);
        else
            take_request(pool, c, &request);
        return;
    }
    if (c->has_ended) {
        connection_close(pool, c);
        return;
    }
    set_events(pool, c, EPOLLIN);
    if (err == OK && request.expects_continue && !c->sent_continue) {
        static const char continue_line[] = "HTTP/1.1 100 Continue\r\n\r\n";
        c->sent_continue = true;
        if (send(c->source.fd, continue_line, sizeof continue_line - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN)
            connection_close(pool, c);
    }
}

static ssize_t receive(struct http_connection *c, char *memory, size_t size)
{
    return c->peer.is_local ? fd_pass_receive(c->source.fd, memory, size, &c->received_fd)
                            : recv(c->source.fd, memory, size, MSG_DONTWAIT);
}

static void read_some(struct http_pool *pool, struct http_connection *c)
{
    char *memory = buf_reserve(&c->in, 4096);
    ssize_t got = memory ? receive(c, memory, 4096) : 0;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        got = -1;
    else if (got < 0 || !memory || (got == 0 && c->in.size == 0)) {
        connection_close(pool, c);
        return;
    }
    if (got > 0 && c->in.size == 0)
        enter(pool, c, READING, pool->limits.request_ns);
    if (c->source.fd < 0)
        return;
    c->has_ended = got == 0;
    c->in.size += got > 0 ? (size_t)got : 0;
    c->in.data[c->in.size] = '\0';
    if (c->in.size > 0)
        handle_input(pool, c);
    else
        buf_clear(&c->in);
}

static void discard_input(struct http_pool *pool, struct http_connection *c)
{
    char rest[4096];
    ssize_t got = recv(c->source.fd, rest, sizeof rest, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        connection_close(pool, c);
}

void http_connection_event(struct http_pool *pool, struct http_connection *c, uint32_t events)
{
    if (c->source.fd < 0)
        return;
    if (events & EPOLLERR || (events & EPOLLHUP && !(events & EPOLLIN)))
        connection_close(pool, c);
    else if (c->state == WAITING)
        return; /* until answer_waiting */
    else if (c->state == SENDING)
        send_some(pool, c);
    else if (c->state == LINGERING)
        discard_input(pool, c);
    else if (!(events & EPOLLIN) && c->in.size > 0)
        handle_input(pool, c);
    else
        read_some(pool, c);
}

static struct http_peer peer_of(int fd, bool is_local)
{
    struct http_peer peer = { .is_local = is_local, .is_same_node = is_local, .uid = UINT32_MAX };
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (!is_local)
        peer.is_same_node = tcp_user_is_local(fd, &peer.uid);
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
        peer.uid = credentials.uid;
        peer.pid = (uint32_t)credentials.pid;
    }
    return peer;
}

/* The user if the kernel knows it, else the address. */
static uint64_t owner_of(int fd, const struct http_peer *peer)
{
    struct sockaddr_storage from = { 0 };
    socklen_t size = sizeof from;
    if (peer->uid != UINT32_MAX || getpeername(fd, (struct sockaddr *)&from, &size))
        return peer->uid;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&from;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&from;
    uint64_t hash = from.ss_family == AF_INET6 ? map_hash(1, &v6->sin6_addr, sizeof v6->sin6_addr)
                                               : map_hash(1, &v4->sin_addr, sizeof v4->sin_addr);
    return hash | 1ull << 33;
}

void http_connection_take(struct http_pool *pool, int fd, bool is_local)
{
    struct http_connection *c = calloc(1, sizeof *c);
    if (!c) {
        close(fd);
        return;
    }
    if (pool->counts[is_local] >= pool->limits.connections)
        connection_close(pool, connection_to_close(pool, is_local));
    c->source = (struct http_event_source){ CONNECTION, fd };
    c->received_fd = -1;
    c->peer = peer_of(fd, is_local);
    c->owner = owner_of(fd, &c->peer);
    c->events = EPOLLIN;
    buf_init(&c->in, HTTP_HEAD_MAX + HTTP_BODY_MAX + 4096);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = &c->source };
    if (epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        close(fd);
        free(c);
        return;
    }
    pool->counts[is_local]++;
    c->next = pool->connections;
    pool->connections = c;
    enter(pool, c, READING, pool->limits.idle_ns);
}

bool http_connection_close_idle(struct http_pool *pool, bool is_local)
{
    struct http_connection *idle = oldest(pool, READING, is_local, largest_owner(pool, is_local));
    if (idle)
        connection_close(pool, idle);
    return idle;
}

void http_connection_close_late(struct http_pool *pool, uint64_t now_ns)
{
    for (struct http_connection *c = pool->connections; c; c = c->next)
        if (c->until_ns <= now_ns)
            connection_close(pool, c);
}

void http_connection_close_all(struct http_pool *pool)
{
    http_connection_close_late(pool, UINT64_MAX);
    http_connection_sweep(pool);
    buf_clear(&pool->spare);
}

static struct http_connection *next_waiting(const struct http_pool *pool)
{
    struct http_connection *c = oldest(pool, WAITING, true, ANYBODY);
    return c ? c : oldest(pool, WAITING, false, ANYBODY);
}

/* Answers the requests that have waited longest, UNIX sockets before TCP, as long as there is memory or slow clients can be
 * closed. Returns when to try again; UINT64_MAX: no request waits. */
static uint64_t answer_waiting(struct http_pool *pool)
{
    uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;
    struct http_connection *waiting, *slow;
    while ((waiting = next_waiting(pool))) {
        if (!is_full(pool))
            handle_input(pool, waiting);
        else if ((slow = slowest(pool, now_ns)))
            connection_close(pool, slow);
        else
            break;
    }
    for (struct http_connection *c = pool->connections; waiting && c; c = c->next)
        if (c->source.fd >= 0 && c->state == SENDING && slow_ns(pool, c) < first_ns)
            first_ns = slow_ns(pool, c);
    return first_ns;
}

uint64_t http_connection_sweep(struct http_pool *pool)
{
    uint64_t first_ns = answer_waiting(pool);
    for (struct http_connection **at = &pool->connections; *at;) {
        struct http_connection *c = *at;
        if (c->source.fd >= 0) {
            first_ns = c->until_ns < first_ns ? c->until_ns : first_ns;
            at = &c->next;
            continue;
        }
        *at = c->next;
        free(c);
    }
    return first_ns;
}
