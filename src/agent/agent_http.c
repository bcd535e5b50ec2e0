/* Which path gives what, and who may ask for it. Bytes are http.c's business, the answers are made by api/metrics_page.c,
 * api/sets_json.c and state.c. */
#include "agent/agent_http.h"

#include "agent/job_post.h"
#include "agent/node_view.h"
#include "net/http.h"
#include "net/listen.h"
#include "api/sets_json.h"
#include "api/jobs_json.h"
#include "api/metrics_page.h"
#include "api/viewer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM 128

struct serve {
    struct serve_context context;
    struct node_view node;
    struct http *http;
    char socket_path[PATH_ROOM]; /* "": none */
    uint16_t port;
};

/* root and whoever the agent runs as, through the socket: they may steer it. */
static bool is_master(const struct http_peer *peer)
{
    return peer->is_local && (peer->uid == 0 || peer->uid == geteuid());
}

static struct view view_of(const struct serve *serve, const struct http_request *request)
{
    return node_view_of(&serve->node, viewer_of(&request->peer));
}

static void give_metrics(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    struct view view = node_view_of(&serve->node, viewer_of_metrics(&request->peer));
    enum metrics_format format = metrics_negotiate(request->accept);
    size_t max = serve->context.series_max ? serve->context.series_max : SERVE_SERIES_MAX;
    answer->type = metrics_type(format);
    programs_metrics(serve->context.programs, &answer->body, format, view.uid);
    metrics_write(&answer->body, &view, format, max);
}

static void give_sets(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    struct view view = view_of(serve, request);
    answer->type = "application/json";
    held_sets(&answer->body, &view, bytes_equal(request->query, bytes_of("values")));
}

static void give_jobs(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    struct view view = view_of(serve, request);
    answer->type = "application/json";
    held_jobs_of_node(&view, &answer->body);
}

static int status_of(enum err err)
{
    return err == OK ? 200 : err == ABSENT || err == GONE ? 404 : err == AGAIN ? 409 : err == DENIED ? 403
           : err == USAGE || err == CORRUPT ? 400 : 500;
}

static void give_programs(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    answer->type = "application/json";
    answer->status = status_of(programs_json(serve->context.programs, &answer->body, request->query,
                                             viewer_of(&request->peer)));
}

static void give_index(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    (void)serve;
    (void)request;
    buf_add_text(&answer->body, "sonde agent " SONDE_VERSION "\n\n"
                                "/metrics      for Prometheus, in text or OpenMetrics\n"
                                "/sets         what is held now, as JSON; /sets?values with the values\n"
                                "/jobs         the jobs on this node, as JSON\n"
                                "/programs     what programs tell of themselves, as JSON\n");
}

static void take_control(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    const struct serve_context *context = &serve->context;
    enum err err = ABSENT;
    answer->type = "application/json";
    if (context->control)
        err = context->control(context->control_context, request->body.data, request->body.size, &answer->body);
    answer->status = status_of(err);
    if (answer->body.size == 0)
        buf_printf(&answer->body, err ? "{\"error\": \"%s\"}\n" : "{\"ok\": true}\n", err_text(err));
}

static void take_job(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    const struct http_peer *peer = &request->peer;
    answer->type = "application/json";
    struct job_teller teller = { peer->uid, is_master(peer), peer->is_local, peer->pid };
    answer->status = status_of(job_post(serve->context.jobs, &teller, request->body, &answer->body));
    if (serve->context.told)
        serve->context.told(serve->context.told_context);
}

static void take_run(struct serve *serve, const struct http_request *request, struct http_answer *answer)
{
    const struct serve_context *context = &serve->context;
    enum err err = ABSENT;
    answer->type = "application/json";
    if (context->run)
        err = context->run(context->run_context, request, &answer->body);
    answer->status = status_of(err);
}

static const struct route {
    const char *path;
    enum http_method method; /* GET brings HEAD */
    void (*give)(struct serve *serve, const struct http_request *request, struct http_answer *answer);
    bool is_for_all; /* also what changes something may come from anybody on this machine: it looks itself who it is */
} routes[] = {
    { "/metrics", HTTP_GET, give_metrics }, /* stays the first: see serve_answer */
    { "/sets", HTTP_GET, give_sets },
    { "/jobs", HTTP_GET, give_jobs },
    { "/programs", HTTP_GET, give_programs },
    { "/ctl", HTTP_POST, take_control },
    { "/job", HTTP_POST, take_job, true },
    { "/run", HTTP_POST, take_run, true },
    { "/", HTTP_GET, give_index },
};

static void refuse(struct http_answer *answer, int status, const char *message)
{
    answer->status = status;
    answer->type = "application/json";
    buf_printf(&answer->body, "{\"error\": \"%s\"}\n", message);
}

static void take_route(struct serve *serve, const struct route *route, const struct http_request *request,
                       struct http_answer *answer)
{
    bool is_get = request->method == HTTP_GET || request->method == HTTP_HEAD;
    if (route->method == HTTP_POST ? request->method != HTTP_POST : !is_get) {
        answer->allow = route->method == HTTP_POST ? "POST" : "GET, HEAD";
        refuse(answer, 405, "this path does not take this method");
    } else if (route->method == HTTP_POST && !is_master(&request->peer)
               && !(route->is_for_all && request->peer.is_local)) {
        refuse(answer, 403, "only root and the agent's own user may do this, through the agent's socket");
    } else {
        route->give(serve, request, answer);
    }
}

/* "/foo/metrics", "/metrics/": tau's proxy answers them all alike. */
static bool is_metrics_of_tau(const struct serve *serve, struct bytes path)
{
    return programs_has_tau_paths(serve->context.programs) && memmem(path.data, path.size, "metrics", strlen("metrics"));
}

static void serve_answer(void *context, const struct http_request *request, struct http_answer *answer)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (bytes_equal(request->path, bytes_of(routes[i].path))) {
            take_route(context, &routes[i], request, answer);
            return;
        }
    if (is_metrics_of_tau(context, request->path))
        take_route(context, &routes[0], request, answer);
    else
        refuse(answer, 404, "there is nothing here; / lists what there is");
}

enum err serve_open(struct serve **serve, const struct serve_context *context)
{
    struct serve *new = *serve = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->context = *context;
    new->node = (struct node_view){ context->live, context->jobs, context->host ? context->host : "" };
    enum err err = http_open(&new->http, &(struct http_handler){ serve_answer, new }, NULL);
    if (err)
        serve_close(serve);
    return err;
}

enum err serve_listen_tcp(struct serve *serve, const char *address, uint16_t port)
{
    int fd;
    enum err err = listen_tcp(address, port, &fd);
    if (err)
        return err;
    serve->port = listen_port(fd);
    return http_listen_take(serve->http, fd, false);
}

enum err serve_listen_unix(struct serve *serve, const char *path)
{
    int fd;
    if (serve->socket_path[0] || strlen(path) >= sizeof serve->socket_path)
        return USAGE;
    enum err err = listen_unix(path, &fd);
    if (err)
        return err;
    snprintf(serve->socket_path, sizeof serve->socket_path, "%s", path);
    return http_listen_take(serve->http, fd, true);
}

void serve_programs(struct serve *serve, struct programs *programs) { serve->context.programs = programs; }

void serve_limit(struct serve *serve, size_t series_max) { serve->context.series_max = series_max; }

const char *serve_socket(const struct serve *serve) { return serve->socket_path; }

uint16_t serve_port(const struct serve *serve) { return serve->port; }

int serve_fd(const struct serve *serve) { return http_fd(serve->http); }

void serve_turn(struct serve *serve) { http_turn(serve->http); }

void serve_close(struct serve **serve)
{
    struct serve *old = *serve;
    if (!old)
        return;
    http_close(&old->http);
    if (old->socket_path[0])
        unlink(old->socket_path);
    free(old);
    *serve = NULL;
}
