/* Where the agent lets others ask: its socket, /metrics, and Colmet's messages. */
#include "agent/agent.h"

#include "agent/control.h"
#include "agent/run_post.h"
#include "agent/declared_jobs.h"
#include "net/http_client.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <string.h>

#define WHY_MAX 4096
#define KEEP_RARELY 20u

static bool is_none(const char *text)
{
    return text && strcmp(text, PLAN_NONE) == 0;
}

/* "127.0.0.1:1337", "[::1]:1337" */
static enum err listen_at(struct serve *serve, const char *listen)
{
    char address[256];
    uint64_t port = 0;
    const char *colon = strrchr(listen, ':');
    size_t size = colon ? (size_t)(colon - listen) : 0;
    if (!colon || size >= sizeof address || text_parse_u64(colon + 1, &port) || port > UINT16_MAX)
        return USAGE;
    bool brackets = size > 2 && listen[0] == '[' && listen[size - 1] == ']';
    size -= brackets ? 2 : 0;
    memcpy(address, listen + brackets, size);
    address[size] = '\0';
    return serve_listen_tcp(serve, address, (uint16_t)port);
}

/* Nobody asked for the usual address: that another program has it is no reason not to run. */
static enum err listen_tcp_as_planned(struct serve *serve, const struct plan *plan)
{
    if (is_none(plan->listen))
        return OK;
    enum err err = listen_at(serve, plan->listen);
    if (!err)
        return OK;
    const char *reason = err == AGAIN  ? "another program listens there"
                       : err == ABSENT ? "it is no address of this node"
                       : err == DENIED ? "ports below 1024 are root's"
                                       : err_text(err);
    if (strcmp(plan->listen, PLAN_LISTEN) == 0) {
        log_warn("/metrics is not served at %s: %s. Choose another address with --listen, or none.", plan->listen, reason);
        return OK;
    }
    log_error("cannot listen at %s: %s. Choose another address with --listen.", plan->listen, reason);
    return err;
}

static enum err listen_unix_as_planned(struct serve *serve, const struct plan *plan)
{
    char usual[ASK_PATH_MAX];
    const char *path = plan->socket;
    if (is_none(path))
        return OK;
    if (!path) {
        if (ask_socket_path(usual)) {
            log_info("there is no place for a socket: 'sonde ctl' and 'sonde job' cannot reach this agent");
            return OK;
        }
        path = usual;
    }
    enum err err = serve_listen_unix(serve, path);
    if (err == AGAIN)
        log_error("an agent runs here already: it listens at %s. Stop it, or give this one another --socket.", path);
    else if (err)
        log_error("cannot listen at %s: %s. Give another path with --socket, or none.", path, err_text(err));
    return err;
}

static enum err take_run(void *context, const struct http_request *request, struct buf *answer)
{
    struct run_post post = { request->peer.uid, request->fd, request->body };
    return run_post(((struct agent *)context)->sender, &post, answer);
}

void agent_keep_jobs(struct agent *agent)
{
    const char *socket = agent->serve ? serve_socket(agent->serve) : "";
    if (!agent->has_told_news || !agent->jobs || !*socket)
        return;
    enum err err = told_jobs_write(socket, agent->settings.root, agent->jobs);
    if (err && !agent->cannot_keep_jobs)
        log_warn("jobs that were told are forgotten when this agent ends: a file beside %s cannot be written: %s", socket,
                 err_text(err));
    agent->cannot_keep_jobs = agent->has_told_news = err != OK; /* there may be room again */
}

/* Before it is answered: who was told that a job is known may rely on it, also over kill -9. Where so many jobs come that this
 * would take more than a twentieth of our time it is done at the next look. */
static void take_told(void *context)
{
    struct agent *agent = context;
    uint64_t begin_ns = clock_monotonic_ns();
    if (!agent->has_told_news || begin_ns < agent->keep_jobs_ns)
        return;
    agent_keep_jobs(agent);
    uint64_t end_ns = clock_monotonic_ns();
    agent->keep_jobs_ns = end_ns + KEEP_RARELY * (end_ns - begin_ns);
}

static enum err listen_as(struct agent *agent, const struct plan *plan)
{
    struct serve_context context = {
        .live = agent->live, .jobs = agent->jobs, .host = agent->host.name, .control = control_answer,
        .control_context = agent, .run = take_run, .run_context = agent, .told = take_told, .told_context = agent,
        .programs = agent->programs, .series_max = plan->series,
    };
    if (is_none(plan->listen) && is_none(plan->socket))
        return OK;
    enum err err = serve_open(&agent->serve, &context);
    if (!err)
        err = listen_unix_as_planned(agent->serve, plan);
    if (!err)
        err = listen_tcp_as_planned(agent->serve, plan);
    if (!err)
        err = agent_add_source(agent, serve_fd(agent->serve), AGENT_SOURCE_SERVE);
    if (err)
        serve_close(&agent->serve);
    return err;
}

static enum err listen_for_colmet(struct agent *agent, const struct plan *plan, struct buf *why)
{
    struct colmet_control control = { control_answer, agent };
    if (!plan->colmet)
        return OK;
    enum err err = colmet_open(&agent->colmet, plan->colmet, &control, why);
    return err ? err : agent_add_source(agent, colmet_fd(agent->colmet), AGENT_SOURCE_COLMET);
}

enum err agent_listen(struct agent *agent)
{
    struct buf why;
    buf_init(&why, WHY_MAX);
    enum err err = listen_as(agent, &agent->plan);
    if (!err && agent->serve && agent->jobs && *serve_socket(agent->serve))
        told_jobs_read(serve_socket(agent->serve), agent->jobs);
    programs_begin(agent->programs);
    if (!err)
        err = listen_for_colmet(agent, &agent->plan, &why);
    if (why.size)
        log_error("%s", buf_text(&why));
    buf_clear(&why);
    return err;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Never from within an answer of the server itself: what may be told over it does not change where it listens. */
static enum err apply_server(struct agent *agent, const struct plan *next, struct buf *why)
{
    if (same_text(agent->plan.listen, next->listen) && same_text(agent->plan.socket, next->socket))
        return OK;
    serve_close(&agent->serve);
    enum err err = listen_as(agent, next);
    if (!err)
        return OK;
    buf_add_text(why, "it cannot listen there");
    listen_as(agent, &agent->plan);
    return err;
}

/* Nor from within a message of Colmet's kind. */
static enum err apply_colmet(struct agent *agent, const struct plan *next, struct buf *why)
{
    if (same_text(agent->plan.colmet, next->colmet))
        return OK;
    colmet_close(&agent->colmet);
    enum err err = listen_for_colmet(agent, next, why);
    if (err) {
        struct buf ignored;
        buf_init(&ignored, WHY_MAX);
        listen_for_colmet(agent, &agent->plan, &ignored);
        buf_clear(&ignored);
    }
    return err;
}

enum err agent_listen_apply(struct agent *agent, const struct plan *next, struct buf *why)
{
    enum err err = apply_server(agent, next, why);
    return err ? err : apply_colmet(agent, next, why);
}
