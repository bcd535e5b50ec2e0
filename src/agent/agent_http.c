/* Maps paths to functions and checks permissions. net/http_server.c handles the protocol; the responses are written by api/,
 * control.c, job_post.c and run_post.c. */
#include "agent/agent_http.h"

#include "agent/job_post.h"
#include "agent/node_view.h"
#include "api/jobs_json.h"
#include "api/metrics_page.h"
#include "api/schema.h"
#include "api/sets_json.h"
#include "api/viewer.h"
#include "net/http_server.h"
#include "net/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 128

struct agent_http {
    struct agent_http_context context;
    struct node_view node;
    struct http_server *http;
    char socket_path[PATH_BYTES]; /* "": none */
    uint16_t port;
};

/* root and the agent's own user, through the socket: they may control it. */
static bool is_privileged(const struct http_peer *peer)
{
    return peer->is_local && (peer->uid == 0 || peer->uid == geteuid());
}

static struct view view_of(const struct agent_http *server, const struct http_request *request)
{
    return node_view_of(&server->node, viewer_of(&request->peer));
}

static void serve_metrics(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    struct view view = node_view_of(&server->node, viewer_of_metrics(&request->peer));
    enum metrics_format format = metrics_format_negotiate(request->accept);
    size_t max = server->context.series_max ? server->context.series_max : AGENT_HTTP_SERIES_MAX;
    answer->type = metrics_format_content_type(format);
    program_metrics_write_page(server->context.programs, &answer->body, format, view.uid);
    metrics_page_write(&answer->body, &view, format, max);
}

static void serve_sets(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    struct view view = view_of(server, request);
    view.producer = server->context.producer;
    view.owner_uid = geteuid();
    view.owner_gid = getegid();
    answer->type = "application/json";
    sets_json_write(&answer->body, &view, bytes_equal(request->query, bytes_of(API_QUERY_VALUES)));
}

static void serve_jobs(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    struct view view = view_of(server, request);
    answer->type = "application/json";
    jobs_json_write_node(&view, &answer->body);
}

static int status_of(enum err err)
{
    return err == OK ? 200 : err == ABSENT || err == GONE ? 404 : err == AGAIN ? 409 : err == DENIED ? 403
           : err == USAGE || err == CORRUPT ? 400 : 500;
}

static void serve_programs(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    answer->type = "application/json";
    answer->status = status_of(program_metrics_write_json(server->context.programs, &answer->body, request->query,
                                             viewer_of(&request->peer)));
}

static void serve_index(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    (void)server;
    (void)request;
    buf_add_text(&answer->body, "sonde agent " SONDE_VERSION "\n\n"
                                "/metrics      for Prometheus, in text or OpenMetrics\n"
                                "/sets         the current metric sets as JSON; /sets?values with the values\n"
                                "/jobs         the jobs on this node, as JSON\n"
                                "/programs     metrics published by programs, as JSON\n");
}

static void handle_control(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    const struct agent_http_context *context = &server->context;
    enum err err = ABSENT;
    answer->type = "application/json";
    if (context->control)
        err = context->control(context->control_context, request->body.data, request->body.size, &answer->body);
    answer->status = status_of(err);
    if (answer->body.size == 0)
        buf_printf(&answer->body, err ? "{\"" API_ERROR "\": \"%s\"}\n" : "{\"" API_OK "\": true}\n", err_text(err));
}

static void handle_job(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    const struct http_peer *peer = &request->peer;
    answer->type = "application/json";
    struct job_requester teller = { peer->uid, is_privileged(peer), peer->is_local, peer->pid };
    answer->status = status_of(job_post(server->context.jobs, &teller, request->body, &answer->body));
    if (server->context.job_posted)
        server->context.job_posted(server->context.job_posted_context);
}

static void handle_run(struct agent_http *server, const struct http_request *request, struct http_answer *answer)
{
    const struct agent_http_context *context = &server->context;
    enum err err = ABSENT;
    answer->type = "application/json";
    if (context->run)
        err = context->run(context->run_context, request, &answer->body);
    answer->status = status_of(err);
}

static const struct agent_route {
    const char *path;
    enum http_method method; /* GET includes HEAD */
    void (*handle)(struct agent_http *server, const struct http_request *request, struct http_answer *answer);
    bool is_for_local_users; /* also POST is open to all local users: the handler checks permissions itself */
} routes[] = {
    { API_PATH_METRICS, HTTP_GET, serve_metrics }, /* must be first: see handle_request */
    { API_PATH_SETS, HTTP_GET, serve_sets },
    { API_PATH_JOBS, HTTP_GET, serve_jobs },
    { API_PATH_PROGRAMS, HTTP_GET, serve_programs },
    { API_PATH_CONTROL, HTTP_POST, handle_control },
    { API_PATH_JOB, HTTP_POST, handle_job, true },
    { API_PATH_RUN, HTTP_POST, handle_run, true },
    { API_PATH_INDEX, HTTP_GET, serve_index },
};

static void refuse(struct http_answer *answer, int status, const char *message)
{
    answer->status = status;
    answer->type = "application/json";
    buf_printf(&answer->body, "{\"" API_ERROR "\": \"%s\"}\n", message);
}

static void handle_route(struct agent_http *server, const struct agent_route *route, const struct http_request *request,
                       struct http_answer *answer)
{
    bool is_get = request->method == HTTP_GET || request->method == HTTP_HEAD;
    if (route->method == HTTP_POST ? request->method != HTTP_POST : !is_get) {
        answer->allow = route->method == HTTP_POST ? "POST" : "GET, HEAD";
        refuse(answer, 405, "method not allowed for this path");
    } else if (route->method == HTTP_POST && !is_privileged(&request->peer)
               && !(route->is_for_local_users && request->peer.is_local)) {
        refuse(answer, 403, "only root and the agent's own user may do this, through the agent's socket");
    } else {
        route->handle(server, request, answer);
    }
}

/* "/foo/metrics", "/metrics/": tau's proxy serves them all. */
static bool is_metrics_of_tau(const struct agent_http *server, struct bytes path)
{
    return program_metrics_has_tau_paths(server->context.programs) && memmem(path.data, path.size, "metrics", strlen("metrics"));
}

/* /metrics is for Prometheus, which has no munge credential. */
static bool is_authenticated(const struct agent_http *server, struct http_request *request, struct http_answer *answer)
{
    struct buf error;
    if (!server->context.needs_munge || bytes_equal(request->path, bytes_of(API_PATH_METRICS))
        || bytes_equal(request->path, bytes_of(API_PATH_INDEX)))
        return true;
    buf_init(&error, 512);
    bool is_good = viewer_authenticate(request, &error);
    if (!is_good)
        refuse(answer, 401, buf_text(&error));
    buf_clear(&error);
    return is_good;
}

static void handle_request(void *context, const struct http_request *original, struct http_answer *answer)
{
    struct http_request copy = *original, *request = &copy;
    if (!is_authenticated(context, request, answer))
        return;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (bytes_equal(request->path, bytes_of(routes[i].path))) {
            handle_route(context, &routes[i], request, answer);
            return;
        }
    if (is_metrics_of_tau(context, request->path))
        handle_route(context, &routes[0], request, answer);
    else
        refuse(answer, 404, "not found; / lists the paths");
}

enum err agent_http_open(struct agent_http **server, const struct agent_http_context *context)
{
    struct agent_http *new = *server = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->context = *context;
    new->node = (struct node_view){ context->live, context->jobs, context->host ? context->host : "" };
    enum err err = http_server_open(&new->http, &(struct http_handler){ handle_request, new }, NULL);
    if (err)
        agent_http_close(server);
    return err;
}

enum err agent_http_listen_tcp(struct agent_http *server, const char *address, uint16_t port)
{
    int fd;
    enum err err = listen_tcp(address, port, &fd);
    if (err)
        return err;
    server->port = listen_port(fd);
    return http_server_listen_take(server->http, fd, false);
}

enum err agent_http_listen_unix(struct agent_http *server, const char *path)
{
    int fd;
    if (server->socket_path[0] || strlen(path) >= sizeof server->socket_path)
        return USAGE;
    enum err err = listen_unix(path, &fd);
    if (err)
        return err;
    snprintf(server->socket_path, sizeof server->socket_path, "%s", path);
    return http_server_listen_take(server->http, fd, true);
}

void agent_http_set_programs(struct agent_http *server, struct program_metrics *programs) { server->context.programs = programs; }

void agent_http_set_series_max(struct agent_http *server, size_t series_max) { server->context.series_max = series_max; }

void agent_http_set_munge(struct agent_http *server, bool is_needed) { server->context.needs_munge = is_needed; }

void agent_http_set_producer(struct agent_http *server, const char *producer) { server->context.producer = producer; }

const char *agent_http_socket(const struct agent_http *server) { return server->socket_path; }

uint16_t agent_http_port(const struct agent_http *server) { return server->port; }

int agent_http_fd(const struct agent_http *server) { return http_server_fd(server->http); }

void agent_http_poll(struct agent_http *server) { http_server_run(server->http); }

void agent_http_close(struct agent_http **server)
{
    struct agent_http *old = *server;
    if (!old)
        return;
    http_server_close(&old->http);
    if (old->socket_path[0])
        unlink(old->socket_path);
    free(old);
    *server = NULL;
}
