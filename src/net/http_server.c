/* Listeners, one timer for the earliest deadline of all connections, and the dispatch of epoll events. The connections are in
 * http_connection.c. */
#include "net/http_server.h"

#include "net/http_connection.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 32
#define ACCEPTS_MAX 64            /* per call of http_server_run */
#define LISTENERS_MAX 8
#define PAUSE_NS (1 * NS_PER_S)
#define NEVER UINT64_MAX

const struct http_server_limits http_server_default_limits = {
    .connections = 96,
    .answer_bytes = 48u << 20,
    .idle_ns = 90 * NS_PER_S,
    .request_ns = 10 * NS_PER_S,
    .answer_ns = 30 * NS_PER_S,
    .stall_ns = 250 * NS_PER_MS,
    .share_ns = 2 * NS_PER_S,
};

struct listener {
    struct http_event_source source;
    bool is_local, is_paused;
};

struct http_server {
    struct http_pool pool;
    struct http_event_source timer;
    uint64_t timer_ns; /* NEVER: not set */
    struct listener listeners[LISTENERS_MAX];
    size_t listener_count;
};

static void listener_watch(struct http_server *http, struct listener *listener, bool is_paused)
{
    struct epoll_event event = { .events = is_paused ? 0 : EPOLLIN, .data.ptr = &listener->source };
    epoll_ctl(http->pool.epoll_fd, EPOLL_CTL_MOD, listener->source.fd, &event);
    listener->is_paused = is_paused;
}

/* Closes an idle connection, or stops accepting for a second: epoll would report the listener again at once. */
static void out_of_descriptors(struct http_server *http, struct listener *listener)
{
    if (!http_connection_close_idle(&http->pool, listener->is_local))
        listener_watch(http, listener, true);
}

static void accept_connections(struct http_server *http, struct listener *listener)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(listener->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            http_connection_take(&http->pool, fd, listener->is_local);
        else if (errno == ECONNABORTED || errno == EINTR)
            continue;
        else if (i == 0 && errno != EAGAIN) /* after the first, Linux reports it even if no connection is waiting */
            out_of_descriptors(http, listener);
        if (fd < 0)
            return;
    }
}

static void timer_expired(struct http_server *http)
{
    uint64_t count, now_ns = clock_monotonic_ns();
    if (read(http->timer.fd, &count, sizeof count) < 0)
        return;
    http->timer_ns = NEVER;
    http_connection_close_late(&http->pool, now_ns);
    for (size_t i = 0; i < http->listener_count; i++)
        if (http->listeners[i].is_paused)
            listener_watch(http, &http->listeners[i], false);
}

/* Only moved to an earlier time: an expiry for nothing costs less than setting it for each request. */
static void set_timer(struct http_server *http, uint64_t first_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < http->listener_count; i++)
        if (http->listeners[i].is_paused && now_ns + PAUSE_NS < first_ns)
            first_ns = now_ns + PAUSE_NS;
    if (first_ns >= http->timer_ns)
        return;
    struct itimerspec at = { .it_value = { (time_t)(first_ns / NS_PER_S), (long)(first_ns % NS_PER_S) } };
    if (timerfd_settime(http->timer.fd, TFD_TIMER_ABSTIME, &at, NULL) == 0)
        http->timer_ns = first_ns;
}

void http_server_run(struct http_server *http)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(http->pool.epoll_fd, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        struct http_event_source *source = events[i].data.ptr;
        if (source->kind == LISTENER)
            accept_connections(http, (struct listener *)source);
        else if (source->kind == TIMER)
            timer_expired(http);
        else
            http_connection_event(&http->pool, (struct http_connection *)source, events[i].events);
    }
    set_timer(http, http_connection_sweep(&http->pool));
}

static enum err add_source(struct http_server *http, struct http_event_source *source)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };
    return epoll_ctl(http->pool.epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0 ? err_from_errno(errno) : OK;
}

enum err http_server_listen_take(struct http_server *http, int fd, bool is_local)
{
    if (http->listener_count == LISTENERS_MAX) {
        close(fd);
        return FULL;
    }
    struct listener *listener = &http->listeners[http->listener_count];
    *listener = (struct listener){ .source = { LISTENER, fd }, .is_local = is_local };
    enum err err = add_source(http, &listener->source);
    if (err)
        close(fd);
    else
        http->listener_count++;
    return err;
}

enum err http_server_open(struct http_server **http, const struct http_handler *handler, const struct http_server_limits *limits)
{
    struct http_server *new = calloc(1, sizeof *new);
    *http = new;
    if (!new)
        return NOMEM;
    new->pool.handler = *handler;
    new->pool.limits = limits ? *limits : http_server_default_limits;
    new->timer_ns = NEVER;
    new->pool.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    new->timer = (struct http_event_source){ TIMER, timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC) };
    enum err err = new->pool.epoll_fd < 0 || new->timer.fd < 0 ? err_from_errno(errno) : add_source(new, &new->timer);
    if (err)
        http_server_close(http);
    return err;
}

void http_server_close(struct http_server **http)
{
    struct http_server *old = *http;
    if (!old)
        return;
    http_connection_close_all(&old->pool);
    for (size_t i = 0; i < old->listener_count; i++)
        close(old->listeners[i].source.fd);
    if (old->timer.fd >= 0)
        close(old->timer.fd);
    if (old->pool.epoll_fd >= 0)
        close(old->pool.epoll_fd);
    free(old);
    *http = NULL;
}

int http_server_fd(const struct http_server *http) { return http->pool.epoll_fd; }

size_t http_server_connections(const struct http_server *http) { return http->pool.counts[0] + http->pool.counts[1]; }

size_t http_server_answer_bytes(const struct http_server *http) { return http->pool.answer_bytes; }
