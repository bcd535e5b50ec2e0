/* What the agent listens on: its socket, HTTP, and Colmet's messages. */
#include "agent/agent.h"

#include "agent/control.h"
#include "agent/saved_jobs.h"
#include "agent/run_post.h"
#include "api/agent_client.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

#define ERROR_MAX 4096
#define SAVE_COST_FACTOR 20u
#define SAVE_CHEAP_NS NS_PER_MS /* saving that takes less is not postponed */

static bool is_none(const char *text)
{
    return text && strcmp(text, AGENT_NONE) == 0;
}

/* "127.0.0.1:1337", "[::1]:1337" */
static enum err listen_at(struct agent_http *http, const char *listen)
{
    char address[256];
    uint64_t port = 0;
    const char *colon = strrchr(listen, ':');
    size_t size = colon ? (size_t)(colon - listen) : 0;
    if (!colon || size >= sizeof address || parse_u64(colon + 1, &port) || port > UINT16_MAX)
        return USAGE;
    bool brackets = size > 2 && listen[0] == '[' && listen[size - 1] == ']';
    size -= brackets ? 2 : 0;
    memcpy(address, listen + brackets, size);
    address[size] = '\0';
    return agent_http_listen_tcp(http, address, (uint16_t)port);
}

/* If the default address is in use the agent still starts: nobody asked for it. */
static enum err listen_tcp_configured(struct agent_http *http, const struct agent_config *config)
{
    if (is_none(config->listen))
        return OK;
    enum err err = listen_at(http, config->listen);
    if (!err)
        return OK;
    const char *reason = err == AGAIN  ? "the address is already in use"
                       : err == ABSENT ? "not an address of this node"
                       : err == DENIED ? "ports below 1024 require root"
                                       : err_text(err);
    if (strcmp(config->listen, AGENT_LISTEN) == 0) {
        log_warn("cannot serve /metrics on %s: %s. Set another address with --listen, or 'none'.", config->listen, reason);
        return OK;
    }
    log_error("cannot listen on %s: %s. Set another address with --listen.", config->listen, reason);
    return err;
}

static enum err listen_unix_configured(struct agent_http *http, const struct agent_config *config)
{
    char default_path[AGENT_CLIENT_PATH_MAX];
    const char *path = config->socket;
    if (is_none(path))
        return OK;
    if (!path) {
        if (agent_client_socket(default_path)) {
            log_info("no directory for a socket: 'sonde ctl' and 'sonde job' cannot reach this agent");
            return OK;
        }
        path = default_path;
    }
    enum err err = agent_http_listen_unix(http, path);
    if (err == AGAIN)
        log_error("another agent is already listening on %s. Stop it, or set another path with --socket.", path);
    else if (err)
        log_error("cannot listen on %s: %s. Set another path with --socket, or 'none'.", path, err_text(err));
    return err;
}

static enum err handle_run(void *context, const struct http_request *request, struct buf *answer)
{
    struct run_post post = { request->peer.uid, request->fd, request->body };
    return run_post(((struct agent *)context)->sender, &post, answer);
}

void agent_save_jobs(struct agent *agent)
{
    const char *socket = agent->http ? agent_http_socket(agent->http) : "";
    if (!agent->jobs_changed || !agent->jobs || !*socket)
        return;
    enum err err = saved_jobs_write(socket, agent->settings.root, agent->jobs);
    if (err && !agent->has_logged_save_error)
        log_warn("cannot save the jobs beside %s: %s. Registered jobs are lost when this agent stops.", socket, err_text(err));
    agent->has_logged_save_error = agent->jobs_changed = err != OK; /* retry: there may be space later */
}

void agent_save_jobs_soon(struct agent *agent)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!agent->jobs_changed || begin_ns < agent->next_save_ns)
        return;
    agent_save_jobs(agent);
    uint64_t end_ns = clock_monotonic_ns(), cost_ns = end_ns - begin_ns;
    agent->next_save_ns = cost_ns < SAVE_CHEAP_NS ? 0 : end_ns + SAVE_COST_FACTOR * cost_ns;
}

/* Before the response is sent: a requester that got the response "known" may rely on it, even after kill -9. */
static void on_job_posted(void *context)
{
    struct agent *agent = context;
    agent->jobs_changed = true;
    agent_save_jobs_soon(agent);
}

static enum err open_http(struct agent *agent, const struct agent_config *config)
{
    struct agent_http_context context = {
        .live = agent->live, .jobs = agent->jobs, .host = agent->host.name, .control = control_answer,
        .control_context = agent, .run = handle_run, .run_context = agent, .job_posted = on_job_posted,
        .job_posted_context = agent, .programs = agent->programs, .series_max = config->series, .producer = config->producer,
        .needs_munge = config->http_munge,
    };
    if (is_none(config->listen) && is_none(config->socket))
        return OK;
    enum err err = agent_http_open(&agent->http, &context);
    if (!err)
        err = listen_unix_configured(agent->http, config);
    if (!err)
        err = listen_tcp_configured(agent->http, config);
    if (!err)
        err = agent_add_source(agent, agent_http_fd(agent->http), AGENT_SOURCE_HTTP);
    if (err)
        agent_http_close(&agent->http);
    return err;
}

static enum err listen_for_colmet(struct agent *agent, const struct agent_config *config, struct buf *error)
{
    struct colmet_control control = { control_answer, agent };
    if (!config->colmet)
        return OK;
    enum err err = colmet_open(&agent->colmet, config->colmet, &control, error);
    if (err && err != ABSENT && err != NOMEM) { /* in use: sampling matters more */
        log_warn("%s. The agent runs without them.", buf_text(error));
        buf_reset(error);
        return OK;
    }
    return err ? err : agent_add_source(agent, colmet_fd(agent->colmet), AGENT_SOURCE_COLMET);
}

/* As tau's proxy does: scripts wait for these lines. */
static void print_as_tau(const struct agent_config *config)
{
    fprintf(stderr, "INFO (tau_metric_exporter_init:483): now listening on %s\n"
                    "INFO (__bind_unix_socket:212): UNIX push gateway running on %s\n", config->listen, config->programs.tau);
}

enum err agent_listen(struct agent *agent)
{
    struct buf error;
    buf_init(&error, ERROR_MAX);
    enum err err = open_http(agent, &agent->config);
    if (!err && agent->http && agent->jobs && *agent_http_socket(agent->http))
        saved_jobs_read(agent_http_socket(agent->http), agent->jobs);
    program_metrics_start(agent->programs);
    if (!err)
        err = listen_for_colmet(agent, &agent->config, &error);
    if (!err && program_metrics_has_tau_paths(agent->programs) && agent->config.programs.tau)
        print_as_tau(&agent->config);
    if (error.size)
        log_error("%s", buf_text(&error));
    buf_clear(&error);
    return err;
}

static bool same_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Never called while the server handles a request: requests cannot change where it listens. */
static enum err apply_server(struct agent *agent, const struct agent_config *next, struct buf *error)
{
    if (same_string(agent->config.listen, next->listen) && same_string(agent->config.socket, next->socket))
        return OK;
    agent_http_close(&agent->http);
    enum err err = open_http(agent, next);
    if (!err)
        return OK;
    buf_add_text(error, "cannot listen on the new address");
    open_http(agent, &agent->config);
    return err;
}

/* Never called while a message of Colmet is handled. */
static enum err apply_colmet(struct agent *agent, const struct agent_config *next, struct buf *error)
{
    if (same_string(agent->config.colmet, next->colmet))
        return OK;
    colmet_close(&agent->colmet);
    enum err err = listen_for_colmet(agent, next, error);
    if (err) {
        struct buf ignored;
        buf_init(&ignored, ERROR_MAX);
        listen_for_colmet(agent, &agent->config, &ignored);
        buf_clear(&ignored);
    }
    return err;
}

enum err agent_listen_apply(struct agent *agent, const struct agent_config *next, struct buf *error)
{
    enum err err = apply_server(agent, next, error);
    return err ? err : apply_colmet(agent, next, error);
}
