/* Opens the parts and keeps them; scopes that nobody is in any more are dropped here, by the agent's own thread alone, so that
 * what samples point at stays while they are written. */
#include "agent/program_metrics.h"

#include "base/clock.h"
#include "base/log.h"
#include "jobs/users.h"
#include "appmetrics/segment_format.h"
#include "appmetrics/segments.h"
#include "appmetrics/syscalls.h"
#include "appmetrics/cells.h"
#include "api/program_json.h"
#include "appmetrics/state_file.h"
#include "api/program_page.h"
#include "compat/tau/profile_snapshot.h"
#include "appmetrics/samples.h"
#include "compat/tau/server.h"
#include "appmetrics/segment_claim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHY_MAX 1024
#define LINGER_NS (2 * NS_PER_S) /* a job that only its programs name stays so long without any */
#define RETRY_NS (5 * NS_PER_S)
#define TELL_NS (60 * NS_PER_S)
#define LOOKUPS_MAX 30 /* for the name of a user, at ticks and for pages, before something is shown without it */

struct programs {
    struct program_plan plan;
    struct programs_context context;
    struct program_table *table;
    struct program_jobs jobs;
    struct tau_gateway gateway;
    struct tau_server *tau; /* NULL: there is none */
    struct tau_profiles *profiles; /* NULL: nobody wants them */
    struct segments *boards; /* NULL: they are not read */
    struct program_keeper keeper;  /* where no boards are: of what tau's clients tell */
    int keeper_fd;                 /* -1: there is none */
    bool tau_is_taken, boards_are_taken; /* by another agent, which may be one that was killed and is not quite gone */
    uint64_t tried_ns;
    uint64_t told_ns; /* when a refusal was logged last; 0: never */
    bool has_begun;
    struct batch batch;
    struct users users;
};

/* Nobody asked for the usual place: that it cannot be had is no reason not to run. */
static enum err open_tau(struct programs *programs)
{
    char usual[TAU_PATH_MAX];
    struct buf why;
    const char *path = programs->plan.tau;
    if (path && strcmp(path, PROGRAM_PLAN_NONE) == 0)
        return OK;
    tau_server_usual_path(usual, geteuid());
    buf_init(&why, WHY_MAX);
    enum err err = tau_server_open(&programs->tau, path ? path : usual, &programs->gateway, &why);
    bool was_taken = programs->tau_is_taken;
    programs->tau_is_taken = err == AGAIN && !path;
    if (err && path)
        log_error("%s", buf_text(&why));
    else if (err && err != AGAIN)
        log_warn("%s", buf_text(&why));
    else if (err && !was_taken)
        log_info("%s", buf_text(&why));
    buf_clear(&why);
    return path ? err : OK;
}

static enum err open_profiles(struct programs *programs)
{
    const struct tau_profiles_settings settings = { programs->plan.profiles, programs->plan.is_worker };
    if (!settings.folder)
        return OK;
    enum err err = tau_profiles_open(&programs->profiles, &settings);
    if (err)
        log_error("cannot write profiles of jobs to %s: %s", settings.folder, err_text(err));
    return err;
}

/* Whoever starts tau's proxy counts on it alone; beside an agent of root that is as it should be. */
static void tell_taken(const struct program_plan *plan, const char *folder)
{
    static const char text[] = "boards of programs in %s are not read as long as another agent reads them: what libsonde's "
                               "programs and probes (-m, -s) count is there, and not here";
    if (plan->has_tau_paths)
        log_warn(text, folder);
    else
        log_info(text, folder);
}

/* That by which the boards go that are ours alone; "": no such are. */
static void name_socket(const struct program_plan *plan, char socket[SEGMENT_SOCKET_SIZE])
{
    char usual[TAU_PATH_MAX];
    const char *path = plan->tau ? plan->tau : usual;
    *socket = '\0';
    tau_server_usual_path(usual, geteuid());
    if (plan->is_only_named && strcmp(path, PROGRAM_PLAN_NONE) != 0)
        snprintf(socket, SEGMENT_SOCKET_SIZE, "%" PRIx64, segment_socket_hash(path));
}

/* Beside the boards that it does not read, under the name of its socket, which it alone has. */
static void open_keeper(struct programs *programs)
{
    char usual[TAU_PATH_MAX], name[SEGMENT_SOCKET_SIZE + 8];
    const char *path = programs->plan.tau ? programs->plan.tau : usual;
    if (strcmp(path, PROGRAM_PLAN_NONE) == 0)
        return;
    tau_server_usual_path(usual, geteuid());
    snprintf(name, sizeof name, "%" PRIx64 ".told", segment_socket_hash(path));
    enum err err = segment_claim_take(NULL, name, &programs->keeper_fd);
    programs->boards_are_taken = err == AGAIN;
    programs->keeper = (struct program_keeper){ .table = programs->table };
    if (!err)
        err = segment_claim_path(programs->keeper.path, NULL, name, SEGMENT_CLAIM_STATE_SUFFIX);
    if (err && err != AGAIN)
        log_warn("what programs tell in jobs is lost when this agent ends: no file can be made in " SEGMENT_DIR ": %s",
                 err_text(err));
    program_keeper_read(&programs->keeper, NULL);
}

static void close_keeper(struct programs *programs)
{
    if (programs->keeper_fd < 0)
        return;
    program_keeper_write(&programs->keeper, NULL, true);
    if (access(programs->keeper.path, F_OK) != 0) { /* it holds nothing: no more does its name */
        programs->keeper.path[strlen(programs->keeper.path) - strlen(SEGMENT_CLAIM_STATE_SUFFIX)] = '\0';
        unlink(programs->keeper.path);
    }
    close(programs->keeper_fd);
    programs->keeper_fd = -1;
    programs->keeper = (struct program_keeper){ 0 };
}

/* Without them the rest works. */
static enum err open_boards(struct programs *programs)
{
    char socket[SEGMENT_SOCKET_SIZE];
    const char *folder = programs->plan.boards ? programs->plan.boards : SEGMENT_DIR;
    if (strcmp(folder, PROGRAM_PLAN_NONE) == 0) {
        open_keeper(programs);
        return OK;
    }
    name_socket(&programs->plan, socket);
    struct segments_settings settings = {
        .folder = folder, .socket = socket, .root = programs->context.root, .table = programs->table, .jobs = &programs->jobs,
    };
    enum err err = segments_open(&programs->boards, &settings);
    bool was_taken = programs->boards_are_taken;
    programs->boards_are_taken = err == AGAIN;
    if (err == AGAIN && !was_taken)
        tell_taken(&programs->plan, folder);
    else if (err && err != AGAIN)
        log_warn("boards of programs in %s are not read: %s. Set another folder with boards in [programs], or none.", folder,
                 err == DENIED ? "it, or a file " SEGMENT_CLAIM " in it, is another user's" : err_text(err));
    return err == NOMEM ? err : OK;
}

static enum err make(struct programs **programs, const struct programs_context *context)
{
    struct programs *new = *programs = calloc(1, sizeof *new);
    struct program_table_settings settings = { .host = context->host, .by_user = geteuid() == 0, .names_users = true };
    if (!new)
        return NOMEM;
    new->keeper_fd = -1;
    new->context = *context;
    new->jobs.root = context->root;
    new->plan.is_off = true; /* nothing is open yet */
    batch_init(&new->batch);
    users_init(&new->users, context->root);
    enum err err = program_table_open(&new->table, &settings);
    new->gateway = (struct tau_gateway){ new->table, &new->jobs };
    if (err)
        programs_close(programs);
    return err;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* plan is what was before. */
static enum err open_parts(struct programs *programs, const struct program_plan *before)
{
    const struct program_plan *plan = &programs->plan;
    enum err err = OK, failed;
    if (before->is_off || !is_same(before->profiles, plan->profiles) || before->is_worker != plan->is_worker) {
        tau_profiles_close(&programs->profiles);
        err = open_profiles(programs);
    }
    bool by_socket = plan->is_only_named || is_same(plan->boards, PROGRAM_PLAN_NONE);
    bool are_others = before->is_only_named != plan->is_only_named || (by_socket && !is_same(before->tau, plan->tau));
    if (before->is_off || !is_same(before->boards, plan->boards) || are_others) {
        segments_close(&programs->boards);
        close_keeper(programs);
        programs->boards_are_taken = false;
        failed = open_boards(programs);
        err = err ? err : failed;
    }
    if (before->is_off || !is_same(before->tau, plan->tau)) {
        tau_server_close(&programs->tau);
        programs->tau_is_taken = false;
        failed = open_tau(programs);
        err = err ? err : failed;
    }
    return err;
}

enum err programs_apply(struct programs **programs, const struct program_plan *plan, const struct programs_context *context)
{
    struct program_plan before;
    if (plan->is_off) {
        programs_close(programs);
        return OK;
    }
    enum err err = *programs ? OK : make(programs, context);
    if (err)
        return err;
    struct programs *now = *programs;
    before = now->plan;
    err = program_plan_copy(&now->plan, plan);
    program_table_lock(now->table);
    now->table->metrics_max = plan->metrics_max ? plan->metrics_max : PROGRAM_METRICS_MAX;
    program_table_unlock(now->table);
    if (!err)
        err = open_parts(now, &before);
    program_plan_clear(&before);
    return err;
}

static void settle(struct programs *programs)
{
    program_table_lock(programs->table);
    program_calls_settle(programs->table);
    program_table_unlock(programs->table);
}

/* Boards are read, and what has changed goes out. Not before the jobs are known that there are: the board of a program that had
 * been in one of them all the time would be read to its last number before the program is found in it. */
static void speak(struct programs *programs)
{
    uint64_t time_ns = clock_realtime_ns();
    if (!programs->has_begun)
        return;
    batch_reset(&programs->batch);
    programs->batch.host = programs->context.host;
    if (programs->boards) {
        segments_tick(programs->boards);
        segments_sample(programs->boards, &programs->batch, time_ns);
    }
    program_samples_add(programs->table, &programs->batch, time_ns);
    if (programs->batch.count && programs->context.out)
        programs->context.out(programs->context.out_context, &programs->batch);
    batch_reset(&programs->batch);
    if (programs->boards)
        segments_forget_finished(programs->boards);
    program_keeper_write(&programs->keeper, NULL, false);
    if (programs->keeper_fd >= 0)
        segment_claim_touch(programs->keeper_fd);
}

void programs_close(struct programs **programs)
{
    struct programs *old = *programs;
    if (!old)
        return;
    tau_server_stop(old->tau);
    if (old->table)
        speak(old); /* what there is to tell since the last time, while gauges have their programs */
    tau_server_close(&old->tau);
    if (old->table)
        program_profile_put_all(old->profiles, old->table);
    tau_profiles_close(&old->profiles);
    segments_close(&old->boards);
    close_keeper(old);
    batch_clear(&old->batch);
    program_jobs_clear(&old->jobs);
    program_table_close(&old->table);
    program_plan_clear(&old->plan);
    users_clear(&old->users);
    free(old);
    *programs = NULL;
}

/* A directory that does not answer is not waited for: then its number will do, or a job goes without. */
static void name_user(struct programs *programs, struct program_scope *scope)
{
    bool later = scope->uid == UINT32_MAX; /* the agent finds out */
    const char *name = later ? "" : users_name(&programs->users, scope->uid, &later);
    scope->is_unnamed &= later && ++scope->lookups < LOOKUPS_MAX;
    if (!*name)
        return;
    snprintf(scope->user, sizeof scope->user, "%s", name);
    program_scope_name(programs->table, scope);
}

/* Under the lock. */
static void name_users(struct programs *programs)
{
    for (struct program_scope *scope = programs->table->scopes; scope; scope = scope->next)
        if (!*scope->user)
            name_user(programs, scope);
}

/* What came just now is shown with its user, if that is known at once. */
static void name_at_once(struct programs *programs)
{
    program_table_lock(programs->table);
    name_users(programs);
    program_table_unlock(programs->table);
}

void programs_metrics(struct programs *programs, struct buf *out, int format, uint32_t viewer)
{
    struct program_page page = { (enum metrics_format)format, viewer, programs ? programs->plan.has_tau_names : false };
    if (!programs)
        return;
    name_at_once(programs);
    program_page_write(out, programs->table, &page);
}

bool programs_has_tau_paths(const struct programs *programs) { return programs && programs->plan.has_tau_paths; }

enum err programs_json(struct programs *programs, struct buf *out, struct bytes query, uint32_t viewer)
{
    if (!programs) {
        buf_add_text(out, "{\"error\": \"this agent does not listen to programs: enabled = no in [programs]\"}\n");
        return ABSENT;
    }
    name_at_once(programs);
    return program_json_write(out, programs->table, query, viewer);
}

/* Thousands of jobs may end at once, few of which have programs that speak. */
static bool has_told(struct programs *programs, const struct job *job)
{
    program_table_lock(programs->table);
    const struct program_scope *scope = program_scope_find(programs->table, job->id, job->uid);
    program_table_unlock(programs->table);
    return scope != NULL;
}

/* Programs that speak already may be in it from now on: what they have counted so far was elsewhere. */
static bool may_hold(const struct job *job)
{
    return strcmp(job->source, "told") == 0 && (job->pid || *job->cgroup);
}

/* What short programs have left on boards has not been read yet, and they are found in the run as long as it is there. */
static bool ends_run(const struct job *job, enum job_event event)
{
    return event == JOB_END && strcmp(job->source, "run") == 0;
}

/* Its profile is that of the job that it was. */
static void drop(struct programs *programs, struct program_scope *scope)
{
    program_profile_put(programs->profiles, scope);
    program_scope_drop(programs->table, scope);
}

/* Programs that have outlived their job are not in the next one of its id, unless the kernel says so. */
static void leave_job(struct programs *programs, const struct program_scope *scope)
{
    if (programs->boards)
        segments_leave_job(programs->boards, scope);
    tau_server_leave_job(programs->tau, scope);
}

/* One that has just ended, and begins anew under its id: what is still there of it is not counted once more. */
static void drop_ended(struct programs *programs, const struct job *job)
{
    program_table_lock(programs->table);
    struct program_scope *scope = program_scope_find(programs->table, job->id, job->uid);
    bool has_ended = scope && scope->has_ended;
    if (has_ended)
        leave_job(programs, scope);
    if (has_ended && !scope->programs)
        drop(programs, scope);
    program_table_unlock(programs->table);
}

void programs_job(struct programs *programs, const struct job *job, enum job_event event)
{
    if (!programs)
        return;
    if (event == JOB_BEGIN)
        drop_ended(programs, job);
    if (may_hold(job) || ends_run(job, event) || has_told(programs, job))
        speak(programs); /* also before the kernel ends to count its calls: those are not theirs */
    program_table_lock(programs->table);
    program_jobs_event(&programs->jobs, programs->table, job, event);
    program_table_unlock(programs->table);
    if (may_hold(job) && event == JOB_BEGIN)
        speak(programs); /* they are in it before the kernel begins to count */
}

void programs_job_sensed(struct programs *programs, const struct job *job, enum job_event event)
{
    if (!programs || event == JOB_END || job->syscalls == JOB_SYSCALLS_NONE || !(may_hold(job) || has_told(programs, job)))
        return;
    speak(programs);
    settle(programs);
}

void programs_sensed(struct programs *programs, const struct job *ending, const struct batch *batch)
{
    if (!programs || !program_calls_are_in(batch))
        return;
    program_table_lock(programs->table);
    program_calls_take(programs->table, &programs->jobs, ending, batch);
    program_table_unlock(programs->table);
}

static void drop_left(struct programs *programs)
{
    uint64_t now_ns = clock_monotonic_ns();
    program_table_lock(programs->table);
    name_users(programs);
    if (!programs->table->figures.boards)
        program_rank_sums_clear(&programs->table->node.ranks); /* of many that have nothing to do with one another */
    for (struct program_scope *scope = programs->table->scopes, *next; scope; scope = next) {
        next = scope->next;
        if (scope->kind == PROGRAM_JOB && !scope->is_known && !scope->programs && now_ns - scope->left_ns > LINGER_NS)
            drop(programs, scope);
    }
    program_table_unlock(programs->table);
}

void programs_begin(struct programs *programs)
{
    if (!programs || programs->has_begun)
        return;
    programs->has_begun = true;
    speak(programs);
}

/* What another agent had is ours as soon as that one is gone. */
static void retry(struct programs *programs)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - programs->tried_ns < RETRY_NS)
        return;
    programs->tried_ns = now_ns;
    if (programs->boards_are_taken)
        open_boards(programs);
    if (programs->tau_is_taken)
        open_tau(programs);
}

/* One line a minute, however many there are: sonde_programs_refused_total counts them. */
static void tell_refused(struct programs *programs)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct program_refusal refusal;
    struct buf why;
    if (programs->told_ns && now_ns - programs->told_ns < TELL_NS)
        return;
    program_table_lock(programs->table);
    refusal = programs->table->refusal;
    *programs->table->refusal.name = '\0';
    program_table_unlock(programs->table);
    if (!*refusal.name)
        return;
    programs->told_ns = now_ns;
    buf_init(&why, WHY_MAX);
    program_refusal_write(&why, &refusal);
    log_warn("a metric that a program of user %u tells of is not counted: %s. A name has one type as long as a program, or a job "
             "that runs, has it: one of the two needs another name.", refusal.uid, buf_text(&why));
    buf_clear(&why);
}

void programs_tend(struct programs *programs)
{
    if (!programs)
        return;
    retry(programs);
    settle(programs);
    programs->has_begun = true;
    speak(programs);
    drop_left(programs);
    tell_refused(programs);
}
