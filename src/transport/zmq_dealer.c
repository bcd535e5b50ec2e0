/* DEALER: one connection to one collector, driven by its owner's thread. It does not reconnect: its owner sees that it is
 * down and opens another. It implements ZMTP itself (zmtp_client.h), because libzmq passes every message to a thread of
 * its own and back, which costs more CPU time than all the rest of sending. */
#include "transport/zmq_module.h"

#include "transport/address.h"
#include "transport/zmtp_client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#define READ_BYTES 16384
#define QUEUE_MAX (1u << 20) /* bytes of messages that wait for the handshake or for the socket */
#define ERROR_MAX 192

enum dealer_state { CONNECTING, HANDSHAKING, UP, DOWN };

struct zmq_dealer {
    enum dealer_state state;
    char error[ERROR_MAX];
    struct addrinfo *found, *next; /* addresses to try; NULL for ipc */
    int fd, poll;                  /* poll: an epoll descriptor of fd, readable if there is something to do */
    bool polls_output;
    struct curve_pair keys;
    uint8_t server_key[CURVE_KEY];
    bool is_encrypted;
    struct zmtp_client client;
    struct buf in, out; /* bytes from and for the socket */
    size_t in_at, out_at;
    struct buf queue; /* messages that wait for the handshake: u32 size, bytes */
};

static void set_down(struct zmq_dealer *d, const char *error)
{
    if (d->state != DOWN)
        snprintf(d->error, sizeof d->error, "%s", error);
    d->state = DOWN;
}

void zmq_dealer_close(struct zmq_dealer **dealer)
{
    struct zmq_dealer *d = *dealer;
    if (!d)
        return;
    if (d->fd >= 0)
        close(d->fd);
    if (d->poll >= 0)
        close(d->poll);
    if (d->found)
        freeaddrinfo(d->found);
    zmtp_client_clear(&d->client);
    sodium_memzero(&d->keys, sizeof d->keys);
    buf_clear(&d->in);
    buf_clear(&d->out);
    buf_clear(&d->queue);
    free(d);
    *dealer = NULL;
}

/* --- connecting --- */

static void poll_output(struct zmq_dealer *d, bool wanted)
{
    struct epoll_event event = { .events = EPOLLIN | (wanted ? EPOLLOUT : 0u) };
    if (d->polls_output != wanted && epoll_ctl(d->poll, EPOLL_CTL_MOD, d->fd, &event) == 0)
        d->polls_output = wanted;
}

static bool start_connection(struct zmq_dealer *d, int family, const struct sockaddr *address, socklen_t size)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
    int on = 1;
    if (d->fd >= 0)
        close(d->fd); /* also removes it from the epoll descriptor */
    d->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0)
        return false;
    d->polls_output = true;
    if (family != AF_UNIX)
        setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bool is_started = connect(d->fd, address, size) == 0 || errno == EINPROGRESS;
    return is_started && epoll_ctl(d->poll, EPOLL_CTL_ADD, d->fd, &event) == 0;
}

/* Starts with the next address that a connection can be started to. */
static void try_next(struct zmq_dealer *d)
{
    while (d->next) {
        const struct addrinfo *at = d->next;
        d->next = at->ai_next;
        if (start_connection(d, at->ai_family, at->ai_addr, at->ai_addrlen))
            return;
    }
    set_down(d, "connection failed");
}

static void connect_ipc(struct zmq_dealer *d, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >= sizeof address.sun_path
        || !start_connection(d, AF_UNIX, (struct sockaddr *)&address, sizeof address))
        set_down(d, "connection failed");
}

static bool decode(uint8_t key[CURVE_KEY], const char *text)
{
    return text && strlen(text) == ZMQ_KEY_MAX - 1 && zmq_z85_decode(key, text);
}

static enum err set_keys(struct zmq_dealer *d, const struct zmq_keys *keys, char *error, size_t error_size)
{
    if (!keys || !keys->secret_key)
        return OK;
    d->is_encrypted = true;
    if (decode(d->keys.public_key, keys->public_key) && decode(d->keys.secret_key, keys->secret_key)
        && decode(d->server_key, keys->server_key))
        return OK;
    snprintf(error, error_size, "not a CURVE key (expected 40 characters, as written by 'sonde keygen')");
    return USAGE;
}

enum err zmq_dealer_open(struct zmq_dealer **dealer, const char *address, const struct zmq_keys *keys, char *error,
                         size_t error_size)
{
    static const char ipc[] = "ipc://";
    struct zmq_dealer *d = *dealer = calloc(1, sizeof *d);
    if (!d)
        return NOMEM;
    d->fd = -1;
    buf_init(&d->in, ZMQ_MODULE_MESSAGE_MAX + READ_BYTES);
    buf_init(&d->out, ZMQ_MODULE_MESSAGE_MAX + QUEUE_MAX);
    buf_init(&d->queue, QUEUE_MAX);
    bool is_ipc = strncmp(address, ipc, sizeof ipc - 1) == 0;
    d->poll = epoll_create1(EPOLL_CLOEXEC);
    enum err err = d->poll < 0 ? err_from_errno(errno) : sodium_init() < 0 ? ABSENT : set_keys(d, keys, error, error_size);
    if (!err && !is_ipc)
        err = address_resolve(address, &d->found, error, error_size);
    if (err) {
        zmq_dealer_close(dealer);
        return err;
    }
    zmtp_client_init(&d->client, d->is_encrypted ? &d->keys : NULL, d->server_key, ZMQ_MODULE_MESSAGE_MAX, &d->out);
    d->next = d->found;
    if (is_ipc)
        connect_ipc(d, address + sizeof ipc - 1);
    else
        try_next(d);
    return OK;
}

int zmq_dealer_fd(const struct zmq_dealer *dealer)
{
    return dealer->poll;
}

/* --- output --- */

static void write_output(struct zmq_dealer *d)
{
    while (d->out_at < d->out.size) {
        ssize_t sent = send(d->fd, d->out.data + d->out_at, d->out.size - d->out_at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            set_down(d, "it closed the connection");
        if (sent < 0)
            break;
        d->out_at += (size_t)sent;
    }
    if (d->out_at == d->out.size) {
        buf_reset(&d->out);
        d->out_at = 0;
    }
    poll_output(d, d->out.size > 0);
}

/* Messages that waited for the handshake. */
static void send_queue(struct zmq_dealer *d)
{
    for (size_t at = 0; at < d->queue.size;) {
        uint32_t size;
        memcpy(&size, d->queue.data + at, sizeof size);
        zmtp_client_send(&d->client, (struct bytes){ d->queue.data + at + sizeof size, size }, &d->out);
        at += sizeof size + size;
    }
    buf_clear(&d->queue);
}

static enum err queue(struct zmq_dealer *d, struct bytes message)
{
    uint32_t size = (uint32_t)message.size;
    if (d->queue.size && message.size > QUEUE_MAX - sizeof size - d->queue.size)
        return AGAIN;
    buf_add(&d->queue, &size, sizeof size);
    buf_add(&d->queue, message.data, message.size);
    return buf_err(&d->queue);
}

/* --- input --- */

static void check_connection(struct zmq_dealer *d)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer;
    if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0 || failure)
        try_next(d);
    else if (getpeername(d->fd, (struct sockaddr *)&peer, &peer_size) == 0) {
        d->state = HANDSHAKING;
        write_output(d);
    }
}

static void lost(struct zmq_dealer *d)
{
    if (d->state == HANDSHAKING)
        set_down(d, "it closed the connection during the handshake: its key is not the one configured here, "
                    "or it is not a collector");
    else
        set_down(d, "it closed the connection");
}

/* More input. false: none. */
static bool read_input(struct zmq_dealer *d)
{
    if (d->in_at) {
        memmove(d->in.data, d->in.data + d->in_at, d->in.size - d->in_at);
        d->in.size -= d->in_at;
        d->in_at = 0;
    }
    char *to = buf_reserve(&d->in, READ_BYTES);
    if (!to) {
        set_down(d, "out of memory");
        return false;
    }
    ssize_t got = recv(d->fd, to, READ_BYTES, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        lost(d);
        return false;
    }
    d->in.size += (size_t)got;
    return true;
}

/* Reads one frame. AGAIN: incomplete, or the connection is down. */
static enum err read_frame(struct zmq_dealer *d, struct bytes *part, bool *is_last)
{
    struct bytes left = { d->in.data + d->in_at, d->in.size - d->in_at };
    enum err err = left.size ? zmtp_client_read(&d->client, &left, &d->out, part, is_last) : AGAIN;
    d->in_at = d->in.size - left.size;
    if (err && err != AGAIN)
        set_down(d, err == DENIED ? "it does not authorize our key" : d->state == UP ? "it sent an invalid message"
                 : "handshake failed: only one side uses encryption, or its key is not the one configured here");
    if (!err && d->state == HANDSHAKING && d->client.state == ZMTP_CLIENT_OPEN) {
        d->state = UP;
        send_queue(d);
    }
    if (!err && d->out.size)
        write_output(d);
    return err == AGAIN || d->state == DOWN ? AGAIN : OK;
}

enum err zmq_dealer_next(struct zmq_dealer *dealer, struct buf *message)
{
    struct bytes part;
    bool is_last = false;
    if (dealer->state == CONNECTING)
        check_connection(dealer);
    if (dealer->state == CONNECTING || dealer->state == DOWN)
        return AGAIN;
    if (dealer->out.size)
        write_output(dealer);
    buf_reset(message);
    while (!is_last) {
        enum err err = read_frame(dealer, &part, &is_last);
        if (err && (dealer->state == DOWN || !read_input(dealer)))
            return AGAIN;
        if (!err && part.data)
            buf_add(message, part.data, part.size);
        else
            is_last = false;
    }
    bool failed = message->failed;
    message->failed = false;
    return failed ? FULL : OK;
}

enum err zmq_dealer_send(struct zmq_dealer *dealer, struct bytes message)
{
    if (dealer->state == DOWN)
        return GONE;
    if (dealer->state != UP)
        return queue(dealer, message);
    if (dealer->out.size)
        write_output(dealer);
    if (dealer->out.size > QUEUE_MAX)
        return AGAIN;
    zmtp_client_send(&dealer->client, message, &dealer->out);
    enum err err = buf_err(&dealer->out);
    if (!err)
        write_output(dealer);
    return err;
}

bool zmq_dealer_is_up(struct zmq_dealer *dealer, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s", dealer->error);
    return dealer->state == UP;
}
