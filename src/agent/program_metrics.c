/* Opens the parts and keeps them. Scopes without programs are dropped here, only by the agent's own thread, so that the
 * strings that samples borrow stay while they are written. */
#include "agent/program_metrics.h"

#include "base/clock.h"
#include "base/log.h"
#include "jobs/users.h"
#include "appmetrics/program_samples.h"
#include "appmetrics/program_syscalls.h"
#include "appmetrics/saved_state.h"
#include "appmetrics/segment_claim.h"
#include "appmetrics/segments.h"
#include "compat/tau/alias.h"
#include "compat/tau/profile_snapshot.h"
#include "compat/tau/server.h"
#include "api/program_json.h"
#include "api/program_page.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ERROR_MAX 1024
#define LINGER_NS (2 * NS_PER_S) /* how long a job that only programs have named stays without any */
#define RETRY_NS (5 * NS_PER_S)
#define LOG_NS (60 * NS_PER_S)
#define READING_SHARE 10u              /* reading for queries takes at most a tenth of the time, */
#define READING_WAIT_NS (NS_PER_S / 10) /* ... but no query waits longer than this for it */
#define LOOKUPS_MAX 30 /* of the name of a user, at ticks and for pages, before a series is exposed without it */

struct program_metrics {
    struct program_config config;
    struct program_metrics_context context;
    struct registry *registry;
    struct program_jobs jobs;
    struct tau_endpoint endpoint;
    struct tau_server *tau;              /* NULL: there is none */
    struct tau_profile_writer *profiles; /* NULL: none are written */
    struct segments *segments;           /* NULL: they are not read. Under the mutex */
    pthread_mutex_t reading;             /* of segments: at a tick, and by tau's thread for a query. Before the registry's lock */
    uint64_t read_ns, reading_ns;        /* when they were read last, and how long that took */
    struct saved_state_file state;       /* if no segments are read: of what tau's clients have reported */
    int state_fd;                        /* the claim on it; -1: none */
    bool tau_is_taken, segments_are_taken; /* by another agent, maybe one that was killed and is about to exit: retry */
    uint64_t retried_ns;
    uint64_t logged_ns;                  /* when a conflict was logged last; 0: never */
    bool has_started;
    struct batch batch;
    struct users users;
};

/* Only a configured path is an error: without the default one the agent runs too. */
static enum err open_tau(struct program_metrics *metrics)
{
    char usual[TAU_PATH_MAX];
    struct buf error;
    const char *path = metrics->config.tau;
    if (path && strcmp(path, PROGRAM_CONFIG_NONE) == 0)
        return OK;
    tau_server_default_path(usual, geteuid());
    buf_init(&error, ERROR_MAX);
    enum err err = tau_server_open(&metrics->tau, path ? path : usual, &metrics->endpoint, &error);
    bool was_taken = metrics->tau_is_taken;
    metrics->tau_is_taken = err == AGAIN && !path;
    if (err && path)
        log_error("%s", buf_text(&error));
    else if (err && err != AGAIN)
        log_warn("%s", buf_text(&error));
    else if (err && !was_taken)
        log_info("%s", buf_text(&error));
    buf_clear(&error);
    return path ? err : OK;
}

static enum err open_profiles(struct program_metrics *metrics)
{
    const struct tau_profile_writer_settings settings = { metrics->config.profiles, metrics->config.is_worker };
    if (!settings.dir)
        return OK;
    enum err err = tau_profile_writer_open(&metrics->profiles, &settings);
    if (err)
        log_error("cannot write profiles of jobs to %s: %s", settings.dir, err_text(err));
    return err;
}

/* A warning for users of tau's proxy, who rely on it alone; next to an agent of root it is as expected. */
static void log_taken(const struct program_config *config, const char *dir)
{
    static const char text[] = "metrics segments in %s are not read while another agent reads them: what programs with "
                               "libsonde and probes (-m, -s) count is exposed there, not here";
    if (config->has_tau_paths)
        log_warn(text, dir);
    else
        log_info(text, dir);
}

/* The hash of the socket that segments must name to be read; "": all are. */
static void name_socket(const struct program_config *config, char socket[SEGMENT_SOCKET_SIZE])
{
    char usual[TAU_PATH_MAX];
    const char *path = config->tau ? config->tau : usual;
    *socket = '\0';
    tau_server_default_path(usual, geteuid());
    if (config->is_only_named && strcmp(path, PROGRAM_CONFIG_NONE) != 0)
        snprintf(socket, SEGMENT_SOCKET_SIZE, "%" PRIx64, segment_socket_hash(path));
}

/* Next to the segments, which it does not read, under the hash of its socket, which no other agent has. */
static void open_state(struct program_metrics *metrics)
{
    char usual[TAU_PATH_MAX], name[SEGMENT_SOCKET_SIZE + 8];
    const char *path = metrics->config.tau ? metrics->config.tau : usual;
    if (strcmp(path, PROGRAM_CONFIG_NONE) == 0)
        return;
    tau_server_default_path(usual, geteuid());
    snprintf(name, sizeof name, "%" PRIx64 ".told", segment_socket_hash(path));
    enum err err = segment_claim_take(NULL, name, &metrics->state_fd);
    metrics->segments_are_taken = err == AGAIN;
    metrics->state = (struct saved_state_file){ .registry = metrics->registry };
    if (!err)
        err = segment_claim_path(metrics->state.path, NULL, name, SEGMENT_CLAIM_STATE_SUFFIX);
    if (err && err != AGAIN)
        log_warn("cannot create a file in " SEGMENT_DIR ": %s. What programs have counted in jobs is lost when this agent stops",
                 err_text(err));
    saved_state_load(&metrics->state, NULL);
}

static void close_state(struct program_metrics *metrics)
{
    if (metrics->state_fd < 0)
        return;
    saved_state_save(&metrics->state, NULL, true);
    if (access(metrics->state.path, F_OK) != 0) { /* nothing is saved: remove the claim too */
        metrics->state.path[strlen(metrics->state.path) - strlen(SEGMENT_CLAIM_STATE_SUFFIX)] = '\0';
        unlink(metrics->state.path);
    }
    close(metrics->state_fd);
    metrics->state_fd = -1;
    metrics->state = (struct saved_state_file){ 0 };
}

/* Without segments the rest works. */
static enum err open_segments(struct program_metrics *metrics)
{
    char socket[SEGMENT_SOCKET_SIZE];
    const char *dir = metrics->config.segment_dir ? metrics->config.segment_dir : SEGMENT_DIR;
    if (strcmp(dir, PROGRAM_CONFIG_NONE) == 0) {
        open_state(metrics);
        return OK;
    }
    name_socket(&metrics->config, socket);
    struct segments_settings settings = {
        .dir = dir, .socket = socket, .root = metrics->context.root, .registry = metrics->registry, .jobs = &metrics->jobs,
    };
    enum err err = segments_open(&metrics->segments, &settings);
    bool was_taken = metrics->segments_are_taken;
    metrics->segments_are_taken = err == AGAIN;
    if (err == AGAIN && !was_taken)
        log_taken(&metrics->config, dir);
    else if (err && err != AGAIN)
        log_warn("cannot read metrics segments in %s: %s. Set another directory in [programs] of the configuration, or none", dir,
                 err == DENIED ? "it, or the file " SEGMENT_CLAIM " in it, belongs to another user" : err_text(err));
    return err == NOMEM ? err : OK;
}

static void refresh_syscalls(struct program_metrics *metrics)
{
    registry_lock(metrics->registry);
    program_syscalls_refresh(metrics->registry);
    registry_unlock(metrics->registry);
}

/* Under the mutex. */
static void read_segments(struct program_metrics *metrics)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!metrics->segments || !metrics->has_started)
        return;
    segments_tick(metrics->segments);
    metrics->read_ns = clock_monotonic_ns();
    metrics->reading_ns = metrics->read_ns - begin_ns;
}

/* For a query: what programs have counted until now, also those that have just ended. */
static void refresh(struct program_metrics *metrics)
{
    pthread_mutex_lock(&metrics->reading);
    uint64_t since_ns = clock_monotonic_ns() - metrics->read_ns, pause_ns = READING_SHARE * metrics->reading_ns;
    pause_ns = pause_ns < READING_WAIT_NS ? pause_ns : READING_WAIT_NS;
    if (metrics->segments && since_ns < pause_ns)
        nanosleep(&(struct timespec){ .tv_nsec = (long)(pause_ns - since_ns) }, NULL);
    read_segments(metrics);
    pthread_mutex_unlock(&metrics->reading);
}

/* In tau's thread, where it is unknown whether the kernel still counts the calls of a job: then the next tick reads. */
static void refresh_for_client(void *context)
{
    struct program_metrics *metrics = context;
    const struct scope *scope;
    bool is_counted = false;
    registry_lock(metrics->registry);
    LIST_FOREACH(scope, &metrics->registry->scopes.list, link)
        is_counted |= scope->job.counts_syscalls;
    registry_unlock(metrics->registry);
    if (!is_counted)
        refresh(metrics);
}

static enum err create(struct program_metrics **metrics, const struct program_metrics_context *context)
{
    struct program_metrics *new = *metrics = calloc(1, sizeof *new);
    struct registry_settings settings = {
        .host = context->host, .is_by_user = geteuid() == 0, .looks_up_users = true, .aliases = tau_alias_list,
    };
    if (!new)
        return NOMEM;
    new->state_fd = -1;
    pthread_mutex_init(&new->reading, NULL);
    new->context = *context;
    new->jobs.root = context->root;
    new->config.is_off = true; /* nothing is open yet */
    batch_init(&new->batch);
    users_init(&new->users, context->root);
    enum err err = registry_open(&new->registry, &settings);
    new->endpoint = (struct tau_endpoint){ new->registry, &new->jobs, refresh_for_client, new };
    if (err)
        program_metrics_close(metrics);
    return err;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* before: the configuration until now. */
static enum err open_parts(struct program_metrics *metrics, const struct program_config *before)
{
    const struct program_config *config = &metrics->config;
    enum err err = OK, failed;
    if (before->is_off || !is_same(before->profiles, config->profiles) || before->is_worker != config->is_worker) {
        tau_profile_writer_close(&metrics->profiles);
        err = open_profiles(metrics);
    }
    bool by_socket = config->is_only_named || is_same(config->segment_dir, PROGRAM_CONFIG_NONE);
    bool are_others = before->is_only_named != config->is_only_named || (by_socket && !is_same(before->tau, config->tau));
    if (before->is_off || !is_same(before->segment_dir, config->segment_dir) || are_others) {
        pthread_mutex_lock(&metrics->reading);
        segments_close(&metrics->segments);
        close_state(metrics);
        metrics->segments_are_taken = false;
        failed = open_segments(metrics);
        pthread_mutex_unlock(&metrics->reading);
        err = err ? err : failed;
    }
    if (before->is_off || !is_same(before->tau, config->tau)) {
        tau_server_close(&metrics->tau);
        metrics->tau_is_taken = false;
        failed = open_tau(metrics);
        err = err ? err : failed;
    }
    return err;
}

enum err program_metrics_apply(struct program_metrics **metrics, const struct program_config *config,
                               const struct program_metrics_context *context)
{
    struct program_config before;
    if (config->is_off) {
        program_metrics_close(metrics);
        return OK;
    }
    enum err err = *metrics ? OK : create(metrics, context);
    if (err)
        return err;
    struct program_metrics *now = *metrics;
    before = now->config;
    err = program_config_copy(&now->config, config);
    registry_lock(now->registry);
    now->registry->hides_aliased = config->has_tau_paths;
    now->registry->quota.max = config->metrics_max ? config->metrics_max : REGISTRY_METRICS_MAX;
    registry_unlock(now->registry);
    if (!err)
        err = open_parts(now, &before);
    program_config_clear(&before);
    return err;
}

/* Reads segments and passes on samples of what has changed. Not before the running jobs are known: else what a program
 * had counted in its job would count for its user. */
static void publish(struct program_metrics *metrics)
{
    uint64_t time_ns = clock_realtime_ns();
    if (!metrics->has_started)
        return;
    batch_reset(&metrics->batch);
    metrics->batch.host = metrics->context.host;
    pthread_mutex_lock(&metrics->reading);
    read_segments(metrics);
    if (metrics->segments)
        segments_sample(metrics->segments, &metrics->batch, time_ns);
    program_samples_add(metrics->registry, &metrics->batch, time_ns);
    if (metrics->batch.count && metrics->context.out)
        metrics->context.out(metrics->context.out_context, &metrics->batch);
    batch_reset(&metrics->batch);
    if (metrics->segments)
        segments_forget_finished(metrics->segments);
    pthread_mutex_unlock(&metrics->reading);
    saved_state_save(&metrics->state, NULL, false);
    if (metrics->state_fd >= 0)
        segment_claim_touch(metrics->state_fd);
}

void program_metrics_close(struct program_metrics **metrics)
{
    struct program_metrics *old = *metrics;
    if (!old)
        return;
    tau_server_stop(old->tau);
    if (old->registry)
        publish(old); /* the last samples, while gauges have their programs */
    tau_server_close(&old->tau);
    if (old->registry)
        tau_profile_snapshot_write_all(old->profiles, old->registry);
    tau_profile_writer_close(&old->profiles);
    segments_close(&old->segments);
    close_state(old);
    batch_clear(&old->batch);
    program_jobs_clear(&old->jobs);
    registry_close(&old->registry);
    program_config_clear(&old->config);
    users_clear(&old->users);
    pthread_mutex_destroy(&old->reading);
    free(old);
    *metrics = NULL;
}

/* Does not wait for a directory service that does not answer: then users are given by number, or a job without one. */
static void name_user(struct program_metrics *metrics, struct scope *scope)
{
    bool later = scope->uid == UINT32_MAX; /* the agent will find out */
    const char *name = later ? "" : users_name(&metrics->users, scope->uid, &later);
    scope->user.is_pending &= later && ++scope->user.lookups < LOOKUPS_MAX;
    scope_set_user(scope, name);
}

/* Under the lock. */
static void name_users(struct program_metrics *metrics)
{
    struct scope *scope;
    LIST_FOREACH(scope, &metrics->registry->scopes.list, link)
        if (!*scope->user.name)
            name_user(metrics, scope);
}

/* So that new scopes are exposed with their user, if the name is known at once. */
static void name_users_now(struct program_metrics *metrics)
{
    registry_lock(metrics->registry);
    name_users(metrics);
    registry_unlock(metrics->registry);
}

void program_metrics_write_page(struct program_metrics *metrics, struct buf *out, int format, uint32_t viewer)
{
    if (!metrics)
        return;
    struct program_page page = {
        .format = (enum metrics_format)format, .viewer = viewer, .has_tau_names = metrics->config.has_tau_names,
        .is_node_only = metrics->config.has_tau_paths,
    };
    refresh_syscalls(metrics);
    refresh(metrics);
    name_users_now(metrics);
    program_page_write(out, metrics->registry, &page);
}

bool program_metrics_has_tau_paths(const struct program_metrics *metrics) { return metrics && metrics->config.has_tau_paths; }

enum err program_metrics_write_json(struct program_metrics *metrics, struct buf *out, struct bytes query, uint32_t viewer)
{
    if (!metrics) {
        buf_add_text(out, "{\"error\": \"program metrics are disabled: enabled = no in [programs]\"}\n");
        return ABSENT;
    }
    refresh_syscalls(metrics);
    refresh(metrics);
    name_users_now(metrics);
    return program_json_write(out, metrics->registry, query, viewer);
}

/* Thousands of jobs may end at once, and few of them have programs with metrics. */
static bool has_scope(struct program_metrics *metrics, const struct job *job)
{
    registry_lock(metrics->registry);
    const struct scope *scope = scopes_find_job(&metrics->registry->scopes, job->id, job->uid);
    registry_unlock(metrics->registry);
    return scope != NULL;
}

/* Programs that run already may be in a job that is registered: what they have counted so far was not. */
static bool may_contain_programs(const struct job *job)
{
    return strcmp(job->source, "told") == 0 && (job->pid || *job->cgroup);
}

/* Segments of short programs may not have been read yet, and can be attributed to the run only while it is known. */
static bool ends_run(const struct job *job, enum job_event event)
{
    return event == JOB_END && strcmp(job->source, "run") == 0;
}

static void drop(struct program_metrics *metrics, struct scope *scope)
{
    tau_profile_snapshot_write(metrics->profiles, scope);
    registry_drop_scope(metrics->registry, scope);
}

/* Programs that have outlived their job are not in the next one of the same id, unless the kernel says so. */
static void leave_job(struct program_metrics *metrics, const struct scope *scope)
{
    if (metrics->segments)
        segments_leave_job(metrics->segments, scope);
    tau_server_leave_job(metrics->tau, scope);
}

/* A job starts again under the id of one that has just ended: it starts at 0. */
static void drop_ended(struct program_metrics *metrics, const struct job *job)
{
    pthread_mutex_lock(&metrics->reading);
    registry_lock(metrics->registry);
    struct scope *scope = scopes_find_job(&metrics->registry->scopes, job->id, job->uid);
    bool has_ended = scope && scope->job.has_ended;
    if (has_ended)
        leave_job(metrics, scope);
    if (has_ended && !scope->programs)
        drop(metrics, scope);
    registry_unlock(metrics->registry);
    pthread_mutex_unlock(&metrics->reading);
}

void program_metrics_job_event(struct program_metrics *metrics, const struct job *job, enum job_event event)
{
    if (!metrics)
        return;
    if (event == JOB_BEGIN)
        drop_ended(metrics, job);
    if (may_contain_programs(job) || ends_run(job, event) || has_scope(metrics, job))
        publish(metrics); /* also before the kernel's count of its system calls ends, which includes those of its programs */
    registry_lock(metrics->registry);
    program_jobs_update(&metrics->jobs, metrics->registry, job, event);
    registry_unlock(metrics->registry);
    if (may_contain_programs(job) && event == JOB_BEGIN)
        publish(metrics); /* its programs are in it before the kernel begins to count */
}

void program_metrics_job_sampled(struct program_metrics *metrics, const struct job *job, enum job_event event)
{
    if (!metrics || event == JOB_END || job->syscalls == JOB_SYSCALLS_NONE)
        return;
    if (!may_contain_programs(job) && !has_scope(metrics, job))
        return;
    publish(metrics);
    refresh_syscalls(metrics);
}

void program_metrics_add_samples(struct program_metrics *metrics, const struct job *ending, const struct batch *batch)
{
    if (!metrics || !program_syscalls_are_in(batch))
        return;
    registry_lock(metrics->registry);
    program_syscalls_add(metrics->registry, &metrics->jobs, ending, batch);
    registry_unlock(metrics->registry);
}

static void drop_empty_scopes(struct program_metrics *metrics)
{
    uint64_t now_ns = clock_monotonic_ns();
    pthread_mutex_lock(&metrics->reading);
    registry_lock(metrics->registry);
    name_users(metrics);
    if (!metrics->registry->stats.segments)
        mpi_rank_sums_clear(&metrics->registry->scopes.node.mpi.sums); /* programs in no job: those that come next are others */
    for (struct scope *scope = LIST_FIRST(&metrics->registry->scopes.list), *next; scope; scope = next) {
        next = LIST_NEXT(scope, link);
        if (scope->kind == SCOPE_JOB && !scope->job.is_known && !scope->programs && now_ns - scope->left_ns > LINGER_NS)
            drop(metrics, scope);
    }
    registry_unlock(metrics->registry);
    pthread_mutex_unlock(&metrics->reading);
}

void program_metrics_start(struct program_metrics *metrics)
{
    if (!metrics || metrics->has_started)
        return;
    metrics->has_started = true;
    publish(metrics);
}

/* The other agent may have stopped. */
static void retry(struct program_metrics *metrics)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - metrics->retried_ns < RETRY_NS)
        return;
    metrics->retried_ns = now_ns;
    pthread_mutex_lock(&metrics->reading);
    if (metrics->segments_are_taken)
        open_segments(metrics);
    pthread_mutex_unlock(&metrics->reading);
    if (metrics->tau_is_taken)
        open_tau(metrics);
    tau_server_check_socket(metrics->tau);
}

/* One line a minute: sonde_programs_refused_total counts all. */
static void log_conflict(struct program_metrics *metrics)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct registry_conflict conflict;
    struct buf error;
    if (metrics->logged_ns && now_ns - metrics->logged_ns < LOG_NS)
        return;
    registry_lock(metrics->registry);
    conflict = metrics->registry->conflict;
    *metrics->registry->conflict.name = '\0';
    registry_unlock(metrics->registry);
    if (!*conflict.name)
        return;
    metrics->logged_ns = now_ns;
    buf_init(&error, ERROR_MAX);
    registry_conflict_write(&error, &conflict);
    log_warn("a metric of a program of user %u is not counted: %s. While a program or a running job uses a name it has one "
             "type: rename one of the two metrics", conflict.uid, buf_text(&error));
    buf_clear(&error);
}

void program_metrics_tick(struct program_metrics *metrics)
{
    if (!metrics)
        return;
    retry(metrics);
    refresh_syscalls(metrics);
    metrics->has_started = true;
    publish(metrics);
    drop_empty_scopes(metrics);
    log_conflict(metrics);
}
