/* One epoll loop. A round reads at most one block of each client, so that a busy one does not delay the others. A
 * client that does not read its reply is not read either, and holds one piece of it. */
#include "compat/tau/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "compat/tau/socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES (256u << 10) /* more than a UNIX socket holds */
#define EVENTS 256
#define ACCEPTS 64      /* in one round */
#define PAUSE_MS 100    /* without accepting, when there were no descriptors */
#define FEW_BYTES 16384 /* in one round: then it is worth to wait for more */
#define GATHER_NS (100 * NS_PER_US)
#define UNREAD_MAX 64   /* clients of one user that do not read their replies; each holds TAU_REPLY_SIZE and a block */
#define LOG_NS (60 * NS_PER_S)
#define ERROR_MAX 1024
#define DRAIN_NS NS_PER_S /* at the end, for what is in the sockets: a client may go on forever */

struct tau_server_client {
    int fd;
    struct tau_connection connection;
    char *rest;               /* bytes that were read and not handled */
    size_t rest_size;
    char *out;                /* TAU_REPLY_SIZE bytes of a reply; NULL: none is being sent */
    size_t out_at, out_size;
    bool waits_to_write;
    uint64_t waits_since_ns;
    struct tau_server_client *next, *previous;
};

struct tau_server {
    struct tau_endpoint *endpoint;
    struct tau_socket socket;
    int epoll_fd, wake_fd;
    pthread_t thread;
    bool is_running, is_paused, stop, must_listen;
    char path[TAU_PATH_MAX];
    struct tau_server_client *clients, *closed; /* closed ones are freed after the round. Changed under the registry's lock */
    size_t round_bytes;               /* read in this round */
    uint64_t logged_ns;                /* when a refusal was logged last */
    char *block; /* BLOCK_BYTES; allocated for the first client: most nodes have none */
};

void tau_server_default_path(char path[TAU_PATH_MAX], uint32_t uid)
{
    snprintf(path, TAU_PATH_MAX, "/tmp/tau_metric_proxy.%u.unix", uid);
}

static void watch(struct tau_server *server, int operation, int fd, uint32_t events, void *what)
{
    struct epoll_event event = { .events = events, .data.ptr = what };
    epoll_ctl(server->epoll_fd, operation, fd, &event);
}

static void pause_accepting(struct tau_server *server, bool is_paused)
{
    if (server->is_paused == is_paused)
        return;
    server->is_paused = is_paused;
    watch(server, EPOLL_CTL_MOD, server->socket.fd, is_paused ? 0 : EPOLLIN, &server->socket);
}

/* --- clients --- */

static void link_client(struct tau_server *server, struct tau_server_client *client)
{
    client->next = server->clients;
    if (client->next)
        client->next->previous = client;
    server->clients = client;
}

static void unlink_client(struct tau_server *server, struct tau_server_client *client)
{
    if (client->previous)
        client->previous->next = client->next;
    else
        server->clients = client->next;
    if (client->next)
        client->next->previous = client->previous;
}

static void free_reply(struct tau_server *server, struct tau_server_client *client)
{
    if (client->out)
        user_budgets_return(&server->endpoint->registry->budgets, client->connection.uid, BUDGET_BYTES, TAU_REPLY_SIZE);
    free(client->out);
    client->out = NULL;
}

static void close_client(struct tau_server *server, struct tau_server_client *client)
{
    if (client->fd < 0)
        return;
    registry_lock(server->endpoint->registry);
    tau_connection_close(&client->connection, server->endpoint);
    unlink_client(server, client);
    registry_unlock(server->endpoint->registry);
    user_budgets_return(&server->endpoint->registry->budgets, client->connection.uid, BUDGET_DESCRIPTORS, 1);
    free_reply(server, client);
    watch(server, EPOLL_CTL_DEL, client->fd, 0, NULL); /* a child process may still have it open */
    close(client->fd);
    client->fd = -1;
    client->next = server->closed;
    server->closed = client;
    pause_accepting(server, false);
}

static void free_closed(struct tau_server *server)
{
    for (struct tau_server_client *client = server->closed, *next; client; client = next) {
        next = client->next;
        free(client->rest);
        free(client);
    }
    server->closed = NULL;
}

/* One line a minute. */
static void log_refused(struct tau_server *server, const struct ucred *peer, const char *what)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (server->logged_ns && now_ns - server->logged_ns < LOG_NS)
        return;
    server->logged_ns = now_ns;
    log_info("tau client refused (process %d of user %u): %s", (int)peer->pid, peer->uid, what);
}

static struct tau_server_client *create_client(struct tau_server *server, int fd)
{
    struct registry *registry = server->endpoint->registry;
    struct ucred peer = { .uid = UINT32_MAX };
    socklen_t size = sizeof peer;
    if (!server->block && !(server->block = malloc(BLOCK_BYTES)))
        return NULL;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0
        || !user_budgets_take(&registry->budgets, peer.uid, BUDGET_DESCRIPTORS, 1))
        return NULL;
    struct tau_server_client *client = calloc(1, sizeof *client);
    registry_lock(registry);
    enum err err = client ? tau_connection_open(&client->connection, server->endpoint, peer.pid, peer.uid) : NOMEM;
    if (!err)
        link_client(server, client);
    registry_unlock(registry);
    if (err) {
        user_budgets_return(&registry->budgets, peer.uid, BUDGET_DESCRIPTORS, 1);
        free(client);
        return NULL;
    }
    client->fd = fd;
    return client;
}

/* Without descriptors clients stay in the queue of the kernel until somebody disconnects. */
static void accept_clients(struct tau_server *server)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(server->socket.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            pause_accepting(server, errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS);
            return;
        }
        struct tau_server_client *client = create_client(server, fd);
        if (client)
            watch(server, EPOLL_CTL_ADD, fd, EPOLLIN, client);
        else
            close(fd);
    }
}

/* --- messages and replies --- */

static void keep_unread(struct tau_server_client *client, const char *rest, size_t size)
{
    char *copy = size ? malloc(size) : NULL;
    if (copy)
        memcpy(copy, rest, size);
    free(client->rest);
    client->rest = copy;
    client->rest_size = copy ? size : 0;
}

/* AGAIN: the client does not read; IO: it has disconnected. */
static enum err send_piece(struct tau_server_client *client)
{
    while (client->out_at < client->out_size) {
        ssize_t sent = send(client->fd, client->out + client->out_at, client->out_size - client->out_at, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR ? AGAIN : IO;
        client->out_at += (size_t)sent;
    }
    return OK;
}

static enum err begin_reply(struct tau_server *server, struct tau_server_client *client)
{
    struct user_budgets *budgets = &server->endpoint->registry->budgets;
    if (client->out)
        return OK;
    if (!user_budgets_take(budgets, client->connection.uid, BUDGET_BYTES, TAU_REPLY_SIZE))
        return FULL;
    if ((client->out = malloc(TAU_REPLY_SIZE)))
        return OK;
    user_budgets_return(budgets, client->connection.uid, BUDGET_BYTES, TAU_REPLY_SIZE);
    return NOMEM;
}

static enum err send_reply(struct tau_server *server, struct tau_server_client *client)
{
    struct registry *registry = server->endpoint->registry;
    enum err err = begin_reply(server, client);
    if (err)
        return err;
    for (;;) {
        if ((err = send_piece(client)))
            return err;
        registry_lock(registry);
        client->out_at = 0;
        client->out_size = tau_reply_fill(&client->connection.reply, registry, client->out, TAU_REPLY_SIZE);
        registry_unlock(registry);
        if (client->out_size == 0)
            break;
    }
    free_reply(server, client);
    return OK;
}

/* A user with many clients that do not read loses the one that has waited longest. */
static void limit_waiting(struct tau_server *server, const struct tau_server_client *newest)
{
    const struct ucred peer = { .pid = newest->connection.pid, .uid = newest->connection.uid };
    struct tau_server_client *first = NULL;
    size_t count = 0;
    for (struct tau_server_client *client = server->clients; client; client = client->next)
        if (client->waits_to_write && client->connection.uid == peer.uid) {
            count++;
            first = !first || client->waits_since_ns < first->waits_since_ns ? client : first;
        }
    if (count <= UNREAD_MAX)
        return;
    log_refused(server, &peer, "too many clients of this user do not read their replies");
    close_client(server, first);
}

static void set_waiting(struct tau_server *server, struct tau_server_client *client, bool waits)
{
    if (client->waits_to_write == waits)
        return;
    client->waits_to_write = waits;
    client->waits_since_ns = clock_monotonic_ns();
    watch(server, EPOLL_CTL_MOD, client->fd, waits ? EPOLLOUT : EPOLLIN, client);
    if (waits)
        limit_waiting(server, client);
}

/* Handles a whole block, with replies in between. AGAIN: a reply is not read. */
static enum err handle_block(struct tau_server *server, struct tau_server_client *client, size_t size)
{
    size_t at = 0, used;
    enum err err;
    do {
        registry_lock(server->endpoint->registry);
        struct bytes rest = { server->block + at, size - at };
        err = tau_connection_receive(&client->connection, server->endpoint, rest, &used);
        registry_unlock(server->endpoint->registry);
        at += used;
        if (!err && client->connection.reply.type != TAU_DESC) {
            if (server->endpoint->refresh)
                server->endpoint->refresh(server->endpoint->context);
            err = send_reply(server, client);
        }
    } while (!err && used && size - at >= sizeof(struct tau_message));
    if (!err || err == AGAIN)
        keep_unread(client, server->block + at, size - at);
    return err;
}

static void finish(struct tau_server *server, struct tau_server_client *client, enum err err)
{
    const struct ucred peer = { .pid = client->connection.pid, .uid = client->connection.uid };
    if (err == CORRUPT)
        log_refused(server, &peer, client->connection.error);
    else if (client->connection.was_refused)
        log_refused(server, &peer, "it names a job of another user; its metrics count for its own user");
    client->connection.was_refused = false;
    if (err && err != AGAIN)
        close_client(server, client);
    else
        set_waiting(server, client, err == AGAIN);
}

static void read_client(struct tau_server *server, struct tau_server_client *client)
{
    size_t before = client->rest_size;
    if (before)
        memcpy(server->block, client->rest, before);
    ssize_t got = recv(client->fd, server->block + before, BLOCK_BYTES - before, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    server->round_bytes += got > 0 ? (size_t)got : 0;
    if (got <= 0)
        close_client(server, client);
    else
        finish(server, client, handle_block(server, client, before + (size_t)got));
}

/* First the reply, then what it has sent meanwhile. */
static void write_client(struct tau_server *server, struct tau_server_client *client)
{
    enum err err = send_reply(server, client);
    size_t size = client->rest_size;
    if (!err && size) {
        memcpy(server->block, client->rest, size);
        err = handle_block(server, client, size);
    }
    finish(server, client, err);
}

/* --- the thread --- */

/* Connected clients stay. */
static void listen_again(struct tau_server *server)
{
    struct tau_socket fresh;
    struct buf error;
    buf_init(&error, ERROR_MAX);
    if (tau_socket_open(&fresh, server->path, &error)) {
        log_warn("%s", buf_text(&error));
    } else {
        log_warn("the socket for clients of tau, %s, was deleted: it is created again", server->path);
        watch(server, EPOLL_CTL_DEL, server->socket.fd, 0, NULL);
        close(server->socket.fd);
        server->socket = fresh;
        watch(server, EPOLL_CTL_ADD, fresh.fd, server->is_paused ? 0 : EPOLLIN, &server->socket);
    }
    buf_clear(&error);
}

static void handle_wake(struct tau_server *server)
{
    uint64_t count;
    if (read(server->wake_fd, &count, sizeof count) > 0 && __atomic_exchange_n(&server->must_listen, false, __ATOMIC_ACQ_REL))
        listen_again(server);
}

static void handle_event(struct tau_server *server, const struct epoll_event *event)
{
    if (event->data.ptr == &server->socket) {
        accept_clients(server);
        return;
    }
    struct tau_server_client *client = event->data.ptr;
    if (!client)
        handle_wake(server);
    if (!client || client->fd < 0)
        return;
    if (client->waits_to_write && (event->events & (EPOLLHUP | EPOLLERR)))
        close_client(server, client);
    else if (client->waits_to_write)
        write_client(server, client);
    else
        read_client(server, client);
}

/* Clients write each message by itself: to wake up for each would cost both sides more than the message does. */
static void gather(struct tau_server *server)
{
    struct timespec pause = { .tv_nsec = GATHER_NS };
    if (server->round_bytes && server->round_bytes < FEW_BYTES)
        nanosleep(&pause, NULL);
    server->round_bytes = 0;
}

/* False: nothing was received. */
static bool listen_once(struct tau_server *server, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(server->epoll_fd, events, EVENTS, timeout_ms);
    if (count <= 0)
        pause_accepting(server, false);
    for (int i = 0; i < count; i++)
        handle_event(server, &events[i]);
    free_closed(server);
    return count > 0;
}

static void *run(void *context)
{
    struct tau_server *server = context;
    while (!__atomic_load_n(&server->stop, __ATOMIC_ACQUIRE)) {
        listen_once(server, server->is_paused ? PAUSE_MS : -1);
        gather(server);
    }
    watch(server, EPOLL_CTL_DEL, server->wake_fd, 0, NULL);
    for (uint64_t until_ns = clock_monotonic_ns() + DRAIN_NS; clock_monotonic_ns() < until_ns;)
        if (!listen_once(server, 0))
            break;
    return NULL;
}

static enum err start(struct tau_server *server)
{
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->epoll_fd < 0 || server->wake_fd < 0)
        return err_from_errno(errno);
    watch(server, EPOLL_CTL_ADD, server->socket.fd, EPOLLIN, &server->socket);
    watch(server, EPOLL_CTL_ADD, server->wake_fd, EPOLLIN, NULL);
    server->is_running = pthread_create(&server->thread, NULL, run, server) == 0;
    return server->is_running ? OK : AGAIN;
}

enum err tau_server_open(struct tau_server **server, const char *path, struct tau_endpoint *endpoint, struct buf *error)
{
    struct tau_server *new = *server = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->endpoint = endpoint;
    new->epoll_fd = new->wake_fd = new->socket.fd = -1;
    snprintf(new->path, sizeof new->path, "%s", path);
    enum err err = tau_socket_open(&new->socket, path, error);
    if (!err && (err = start(new)))
        buf_printf(error, "cannot start the thread for clients of tau: %s", err_text(err));
    if (err)
        tau_server_close(server);
    return err;
}

void tau_server_leave_job(struct tau_server *server, const struct scope *scope)
{
    for (struct tau_server_client *client = server ? server->clients : NULL; client; client = client->next)
        if (client->connection.scope == scope)
            tau_connection_leave_job(&client->connection, server->endpoint);
}

static void wake(struct tau_server *server)
{
    uint64_t one = 1;
    if (write(server->wake_fd, &one, sizeof one) < 0)
        log_info("cannot wake the thread for clients of tau");
}

void tau_server_check_socket(struct tau_server *server)
{
    struct stat st;
    if (!server || lstat(server->path, &st) == 0 || errno != ENOENT)
        return;
    __atomic_store_n(&server->must_listen, true, __ATOMIC_RELEASE);
    wake(server);
}

void tau_server_stop(struct tau_server *server)
{
    if (!server || !server->is_running)
        return;
    __atomic_store_n(&server->stop, true, __ATOMIC_RELEASE);
    wake(server);
    pthread_join(server->thread, NULL);
    server->is_running = false;
}

void tau_server_close(struct tau_server **server)
{
    struct tau_server *old = *server;
    if (!old)
        return;
    tau_server_stop(old);
    while (old->clients)
        close_client(old, old->clients);
    free_closed(old);
    tau_socket_close(&old->socket);
    if (old->epoll_fd >= 0)
        close(old->epoll_fd);
    if (old->wake_fd >= 0)
        close(old->wake_fd);
    free(old->block);
    free(old);
    *server = NULL;
}
