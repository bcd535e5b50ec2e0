/* Which path gives what, and who may ask for it. */
#include "collector/collector_http.h"

#include "net/http_client.h"
#include "net/http.h"
#include "net/listen.h"
#include "base/log.h"
#include "base/text.h"
#include "collector/collector.h"
#include "collector/collector_status.h"
#include "collector/live_view.h"
#include "collector/self_metrics.h"
#include "api/sets_json.h"
#include "api/jobs_json.h"
#include "api/metrics_page.h"
#include "api/viewer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct desk {
    struct collector *collector;
    struct http *http;
    struct batch own;
    char socket_path[ASK_PATH_MAX]; /* "": none */
};

static void refuse(struct http_answer *answer, int status, const char *message)
{
    answer->status = status;
    answer->type = "application/json";
    buf_printf(&answer->body, "{\"error\": \"%s\"}\n", message);
}

/* "values&host=n1": is a word there, and what is behind "host="? */
static bool has_word(struct bytes query, const char *word)
{
    size_t size = strlen(word);
    for (size_t at = 0; at + size <= query.size; at++)
        if ((at == 0 || query.data[at - 1] == '&') && memcmp(query.data + at, word, size) == 0
            && (at + size == query.size || query.data[at + size] == '&'))
            return true;
    return false;
}

static struct bytes asked_host(struct bytes query)
{
    for (size_t at = 0; at + 5 <= query.size; at++) {
        if ((at && query.data[at - 1] != '&') || memcmp(query.data + at, "host=", 5) != 0)
            continue;
        const char *value = query.data + at + 5, *end = memchr(value, '&', query.size - at - 5);
        return (struct bytes){ value, end ? (size_t)(end - value) : query.size - at - 5 };
    }
    return (struct bytes){ 0 };
}

/* What is held, made for this answer. */
static enum err open_view(struct desk *desk, const struct http_request *request, struct held_view *held, uint32_t uid,
                          struct view *view)
{
    struct bytes host = asked_host(request->query);
    batch_reset(&desk->own);
    enum err err = held_view_open(held, &desk->collector->receiver, host);
    if (!err && !host.size)
        err = own_figures_add(&desk->own, desk->collector);
    held->own = &desk->own;
    *view = held_view_of(held, uid);
    if (err)
        held_view_close(held);
    return err;
}

static void give_metrics(struct desk *desk, const struct http_request *request, struct http_answer *answer)
{
    struct held_view held;
    struct view view;
    enum metrics_format format = metrics_negotiate(request->accept);
    uint64_t max = desk->collector->plan.series;
    answer->type = metrics_type(format);
    if (open_view(desk, request, &held, viewer_of_metrics(&request->peer), &view)) {
        answer->body.failed = true;
        return;
    }
    metrics_write(&answer->body, &view, format, max ? max : DESK_SERIES_MAX);
    held_view_close(&held);
}

static void give_sets(struct desk *desk, const struct http_request *request, struct http_answer *answer)
{
    struct held_view held;
    struct view view;
    answer->type = "application/json";
    if (open_view(desk, request, &held, viewer_of(&request->peer), &view)) {
        answer->body.failed = true;
        return;
    }
    held_sets(&answer->body, &view, has_word(request->query, "values"));
    held_view_close(&held);
}

/* A node after the other. */
static enum err add_jobs(struct held_jobs *jobs, struct held_view *all, uint32_t uid)
{
    enum err err = OK;
    for (size_t i = 0; i < all->count && !err; i++) {
        struct held_view one = *all;
        one.origins = &all->origins[i];
        one.count = 1;
        struct view view = held_view_of(&one, uid);
        if (all->origins[i] && all->origins[i]->newest && !origin_is_silent(all->origins[i], all->now_ns))
            err = held_jobs_add(jobs, &view);
    }
    return err;
}

static void give_jobs(struct desk *desk, const struct http_request *request, struct http_answer *answer)
{
    struct held_view held;
    struct held_jobs jobs = { 0 };
    uint32_t uid = viewer_of(&request->peer);
    answer->type = "application/json";
    enum err err = held_view_open(&held, &desk->collector->receiver, asked_host(request->query));
    if (!err)
        err = add_jobs(&jobs, &held, uid);
    struct view view = held_view_of(&held, uid);
    if (err)
        answer->body.failed = true;
    else
        held_jobs_write(&jobs, &view, &answer->body);
    held_jobs_clear(&jobs);
    held_view_close(&held);
}

static void give_status(struct desk *desk, const struct http_request *request, struct http_answer *answer)
{
    (void)request;
    answer->type = "application/json";
    collector_status(&answer->body, desk->collector);
}

static void give_index(struct desk *desk, const struct http_request *request, struct http_answer *answer)
{
    (void)desk;
    (void)request;
    buf_add_text(&answer->body, "sonde collect " SONDE_VERSION "\n\n"
                                "/status       how the collector, its hosts and its sinks are, as JSON\n"
                                "/metrics      what all hosts hold now, for Prometheus; /metrics?host=NAME: of one\n"
                                "/sets         the same as JSON; /sets?values with the values, &host=NAME of one\n"
                                "/jobs         the jobs on all hosts, as JSON; /jobs?host=NAME: on one\n");
}

static const struct route {
    const char *path;
    void (*give)(struct desk *desk, const struct http_request *request, struct http_answer *answer);
} routes[] = {
    { "/metrics", give_metrics }, { "/sets", give_sets }, { "/jobs", give_jobs }, { "/status", give_status }, { "/", give_index },
};

static void answer_request(void *context, const struct http_request *request, struct http_answer *answer)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!bytes_equal(request->path, bytes_of(routes[i].path)))
            continue;
        if (request->method == HTTP_GET || request->method == HTTP_HEAD) {
            routes[i].give(context, request, answer);
            return;
        }
        answer->allow = "GET, HEAD";
        refuse(answer, 405, "this path does not take this method");
        return;
    }
    refuse(answer, 404, "there is nothing here; / lists what there is");
}

static bool is_none(const char *text)
{
    return text && strcmp(text, COLLECTOR_NONE) == 0;
}

static enum err listen_socket(struct desk *desk, const char *path, struct buf *why)
{
    char usual[ASK_PATH_MAX];
    int fd;
    if (is_none(path))
        return OK;
    if (!path && ask_socket_named(ASK_SOCKET_COLLECTOR, usual))
        return OK; /* there is no place for one */
    path = path ? path : usual;
    enum err err = strlen(path) < sizeof desk->socket_path ? listen_unix(path, &fd) : USAGE;
    if (err == AGAIN)
        buf_printf(why, "a collector runs here already: it listens at %s. Stop it, or give this one another --socket", path);
    else if (err)
        buf_printf(why, "cannot listen at %s: %s. Give another path with --socket, or none", path, err_text(err));
    if (err)
        return err;
    memcpy(desk->socket_path, path, strlen(path) + 1);
    return http_listen_take(desk->http, fd, true);
}

/* "127.0.0.1:1338", "[::1]:1338" */
static enum err split(const char *listen, char address[256], uint16_t *port)
{
    uint64_t number = 0;
    const char *colon = strrchr(listen, ':');
    size_t size = colon ? (size_t)(colon - listen) : 0;
    if (!colon || size >= 256 || text_parse_u64(colon + 1, &number) || number > UINT16_MAX)
        return USAGE;
    bool brackets = size > 2 && listen[0] == '[' && listen[size - 1] == ']';
    size -= brackets ? 2 : 0;
    memcpy(address, listen + brackets, size);
    address[size] = '\0';
    *port = (uint16_t)number;
    return OK;
}

/* Nobody asked for the usual address: that another program has it is no reason not to run. */
static enum err listen_http(struct desk *desk, const char *where, struct buf *why)
{
    char address[256];
    uint16_t port;
    int fd;
    if (is_none(where))
        return OK;
    enum err err = split(where, address, &port);
    if (!err)
        err = listen_tcp(address, port, &fd);
    if (!err)
        return http_listen_take(desk->http, fd, false);
    const char *reason = err == AGAIN ? "another program listens there" : err == ABSENT ? "it is no address of this machine"
                         : err == USAGE ? "it is no address" : err_text(err);
    if (strcmp(where, COLLECTOR_HTTP) == 0) {
        log_warn("/metrics and /status are not served at %s: %s. Choose another address with --http, or none.", where, reason);
        return OK;
    }
    buf_printf(why, "cannot listen at %s: %s. Choose another address with --http, or none", where, reason);
    return err;
}

enum err desk_open(struct desk **desk, struct collector *collector, struct buf *why)
{
    if (is_none(collector->plan.http) && is_none(collector->plan.socket))
        return OK;
    struct desk *new = *desk = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->collector = collector;
    batch_init(&new->own);
    enum err err = http_open(&new->http, &(struct http_handler){ answer_request, new }, NULL);
    if (!err)
        err = listen_socket(new, collector->plan.socket, why);
    if (!err)
        err = listen_http(new, collector->plan.http, why);
    if (err)
        desk_close(desk);
    return err;
}

int desk_fd(const struct desk *desk) { return http_fd(desk->http); }

void desk_turn(struct desk *desk) { http_turn(desk->http); }

void desk_close(struct desk **desk)
{
    struct desk *old = *desk;
    if (!old)
        return;
    http_close(&old->http);
    batch_clear(&old->own);
    if (old->socket_path[0])
        unlink(old->socket_path);
    free(old);
    *desk = NULL;
}
