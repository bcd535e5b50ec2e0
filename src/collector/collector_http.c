/* Maps paths to functions that write the response. */
#include "collector/collector_http.h"

#include "api/agent_client.h"
#include "api/jobs_json.h"
#include "api/metrics_page.h"
#include "api/schema.h"
#include "api/sets_json.h"
#include "api/viewer.h"
#include "base/log.h"
#include "base/parse.h"
#include "collector/collector.h"
#include "collector/collector_status.h"
#include "collector/live_view.h"
#include "collector/self_metrics.h"
#include "net/http_server.h"
#include "net/listen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct collector_http {
    struct collector *collector;
    struct http_server *http;
    struct batch own;
    char socket_path[AGENT_CLIENT_PATH_MAX]; /* "": none */
};

static void refuse(struct http_answer *answer, int status, const char *message)
{
    answer->status = status;
    answer->type = "application/json";
    buf_printf(&answer->body, "{\"" API_ERROR "\": \"%s\"}\n", message);
}

/* Finds "values" and the value of "host" in "values&host=n1". */
static bool has_parameter(struct bytes query, const char *word)
{
    size_t size = strlen(word);
    for (size_t at = 0; at + size <= query.size; at++)
        if ((at == 0 || query.data[at - 1] == '&') && memcmp(query.data + at, word, size) == 0
            && (at + size == query.size || query.data[at + size] == '&'))
            return true;
    return false;
}

static struct bytes host_parameter(struct bytes query)
{
    for (size_t at = 0; at + 5 <= query.size; at++) {
        if ((at && query.data[at - 1] != '&') || memcmp(query.data + at, API_QUERY_HOST "=", 5) != 0)
            continue;
        const char *value = query.data + at + 5, *end = memchr(value, '&', query.size - at - 5);
        return (struct bytes){ value, end ? (size_t)(end - value) : query.size - at - 5 };
    }
    return (struct bytes){ 0 };
}

/* The current values, collected for one response. */
static enum err open_view(struct collector_http *server, const struct http_request *request, struct live_view *live,
                          uint32_t uid,
                          struct view *view)
{
    struct bytes host = host_parameter(request->query);
    batch_reset(&server->own);
    enum err err = live_view_open(live, &server->collector->receiver, host);
    if (!err && !host.size)
        err = self_metrics_add(&server->own, server->collector);
    live->own = &server->own;
    *view = live_view_as_view(live, uid);
    if (err)
        live_view_close(live);
    return err;
}

static void serve_metrics(struct collector_http *server, const struct http_request *request, struct http_answer *answer)
{
    struct live_view live;
    struct view view;
    enum metrics_format format = metrics_format_negotiate(request->accept);
    uint64_t max = server->collector->config.series;
    answer->type = metrics_format_content_type(format);
    if (open_view(server, request, &live, viewer_of_metrics(&request->peer), &view)) {
        answer->body.failed = true;
        return;
    }
    metrics_page_write(&answer->body, &view, format, max ? max : COLLECTOR_HTTP_SERIES_MAX);
    live_view_close(&live);
}

static void serve_sets(struct collector_http *server, const struct http_request *request, struct http_answer *answer)
{
    struct live_view live;
    struct view view;
    answer->type = "application/json";
    if (open_view(server, request, &live, viewer_of(&request->peer), &view)) {
        answer->body.failed = true;
        return;
    }
    view.producer = server->collector->config.producer;
    view.owner_uid = geteuid();
    view.owner_gid = getegid();
    sets_json_write(&answer->body, &view, has_parameter(request->query, API_QUERY_VALUES));
    live_view_close(&live);
}

/* One host after the other. */
static enum err add_jobs(struct jobs_json *jobs, struct live_view *all, uint32_t uid)
{
    enum err err = OK;
    for (size_t i = 0; i < all->count && !err; i++) {
        struct live_view one = *all;
        one.known_hosts = &all->known_hosts[i];
        one.count = 1;
        struct view view = live_view_as_view(&one, uid);
        if (all->known_hosts[i] && all->known_hosts[i]->newest && !known_host_is_silent(all->known_hosts[i], all->now_ns))
            err = jobs_json_add(jobs, &view);
    }
    return err;
}

static void serve_jobs(struct collector_http *server, const struct http_request *request, struct http_answer *answer)
{
    struct live_view live;
    struct jobs_json jobs = { 0 };
    uint32_t uid = viewer_of(&request->peer);
    answer->type = "application/json";
    enum err err = live_view_open(&live, &server->collector->receiver, host_parameter(request->query));
    if (!err)
        err = add_jobs(&jobs, &live, uid);
    struct view view = live_view_as_view(&live, uid);
    if (err)
        answer->body.failed = true;
    else
        jobs_json_write(&jobs, &view, &answer->body);
    jobs_json_clear(&jobs);
    live_view_close(&live);
}

static void serve_status(struct collector_http *server, const struct http_request *request, struct http_answer *answer)
{
    answer->type = "application/json";
    collector_status(&answer->body, server->collector, viewer_is_operator(&request->peer));
}

static void serve_index(struct collector_http *server, const struct http_request *request, struct http_answer *answer)
{
    (void)server;
    (void)request;
    buf_add_text(&answer->body, "sonde collect " SONDE_VERSION "\n\n"
                                "/status       state of the collector, its hosts and its sinks, as JSON\n"
                                "/metrics      current values of all hosts, for Prometheus; /metrics?host=NAME: of one host\n"
                                "/sets         the metric sets as JSON; /sets?values with the values, &host=NAME: of one host\n"
                                "/jobs         the jobs on all hosts, as JSON; /jobs?host=NAME: on one\n");
}

static const struct collector_route {
    const char *path;
    void (*emit)(struct collector_http *server, const struct http_request *request, struct http_answer *answer);
} routes[] = {
    { API_PATH_METRICS, serve_metrics }, { API_PATH_SETS, serve_sets }, { API_PATH_JOBS, serve_jobs },
    { API_PATH_STATUS, serve_status }, { API_PATH_INDEX, serve_index },
};

/* /metrics is for Prometheus, which has no munge credential. */
static bool is_authenticated(const struct collector_http *server, struct http_request *request, struct http_answer *answer)
{
    struct buf error;
    if (!server->collector->config.http_munge || bytes_equal(request->path, bytes_of(API_PATH_METRICS))
        || bytes_equal(request->path, bytes_of(API_PATH_INDEX)))
        return true;
    buf_init(&error, 512);
    bool is_good = viewer_authenticate(request, &error);
    if (!is_good)
        refuse(answer, 401, buf_text(&error));
    buf_clear(&error);
    return is_good;
}

static void answer_request(void *context, const struct http_request *original, struct http_answer *answer)
{
    struct http_request copy = *original, *request = &copy;
    if (!is_authenticated(context, request, answer))
        return;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!bytes_equal(request->path, bytes_of(routes[i].path)))
            continue;
        if (request->method == HTTP_GET || request->method == HTTP_HEAD) {
            routes[i].emit(context, request, answer);
            return;
        }
        answer->allow = "GET, HEAD";
        refuse(answer, 405, "method not allowed for this path");
        return;
    }
    refuse(answer, 404, "not found; / lists the paths");
}

static bool is_none(const char *text)
{
    return text && strcmp(text, COLLECTOR_NONE) == 0;
}

static enum err listen_socket(struct collector_http *server, const char *path, struct buf *error)
{
    char default_path[AGENT_CLIENT_PATH_MAX];
    int fd;
    if (is_none(path))
        return OK;
    if (!path && agent_client_socket_named(AGENT_CLIENT_SOCKET_COLLECTOR, default_path))
        return OK; /* no directory for a socket */
    path = path ? path : default_path;
    enum err err = strlen(path) < sizeof server->socket_path ? listen_unix(path, &fd) : USAGE;
    if (err == AGAIN)
        buf_printf(error, "another collector is already listening on %s. Stop it, or set another path with --socket", path);
    else if (err)
        buf_printf(error, "cannot listen on %s: %s. Set another path with --socket, or 'none'", path, err_text(err));
    if (err)
        return err;
    memcpy(server->socket_path, path, strlen(path) + 1);
    return http_server_listen_take(server->http, fd, true);
}

/* "127.0.0.1:1338", "[::1]:1338" */
static enum err split(const char *listen, char address[256], uint16_t *port)
{
    uint64_t number = 0;
    const char *colon = strrchr(listen, ':');
    size_t size = colon ? (size_t)(colon - listen) : 0;
    if (!colon || size >= 256 || parse_u64(colon + 1, &number) || number > UINT16_MAX)
        return USAGE;
    bool brackets = size > 2 && listen[0] == '[' && listen[size - 1] == ']';
    size -= brackets ? 2 : 0;
    memcpy(address, listen + brackets, size);
    address[size] = '\0';
    *port = (uint16_t)number;
    return OK;
}

/* If the default address is in use the collector still starts: nobody asked for it. */
static enum err listen_http(struct collector_http *server, const char *where, struct buf *error)
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
        return http_server_listen_take(server->http, fd, false);
    const char *reason = err == AGAIN ? "the address is already in use" : err == ABSENT ? "not an address of this node"
                         : err == USAGE ? "invalid address" : err_text(err);
    if (strcmp(where, COLLECTOR_HTTP) == 0) {
        log_warn("cannot serve /metrics and /status on %s: %s. Set another address with --http, or 'none'.", where, reason);
        return OK;
    }
    buf_printf(error, "cannot listen on %s: %s. Set another address with --http, or 'none'", where, reason);
    return err;
}

enum err collector_http_open(struct collector_http **server, struct collector *collector, struct buf *error)
{
    if (is_none(collector->config.http) && is_none(collector->config.socket))
        return OK;
    struct collector_http *new = *server = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->collector = collector;
    batch_init(&new->own);
    enum err err = http_server_open(&new->http, &(struct http_handler){ answer_request, new }, NULL);
    if (!err)
        err = listen_socket(new, collector->config.socket, error);
    if (!err)
        err = listen_http(new, collector->config.http, error);
    if (err)
        collector_http_close(server);
    return err;
}

int collector_http_fd(const struct collector_http *server) { return http_server_fd(server->http); }

void collector_http_poll(struct collector_http *server) { http_server_run(server->http); }

void collector_http_close(struct collector_http **server)
{
    struct collector_http *old = *server;
    if (!old)
        return;
    http_server_close(&old->http);
    batch_clear(&old->own);
    if (old->socket_path[0])
        unlink(old->socket_path);
    free(old);
    *server = NULL;
}
