/* Cgroups and parents come from the kernel. The environment comes from the program, which can only name jobs of its own
 * user. The pid too is only believed for processes of the same user: in a segment the program wrote it, and that of a
 * socket's peer may have been reused since. */
#include "appmetrics/program_jobs.h"

#include "base/clock.h"
#include "base/file.h"
#include "proc/pid.h"
#include "jobs/pid_job.h"
#include "appmetrics/registry.h"
#include "samplers/jobs/syscalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARENTS_MAX 256
#define RECHECK_NS (NS_PER_S / 2) /* for processes that are moved into a cgroup; clients send thousands of messages */
#define RECHECK_IN_JOB_NS (5 * NS_PER_S) /* one in a job is seldom moved, and a lookup takes several system calls */

struct program_job {
    char id[JOB_ID_MAX], other_id[JOB_ID_MAX], user[SCOPE_USER_MAX];
    uint32_t uid;
    char *cgroup;          /* NULL: none */
    bool is_declared;      /* by an administrator or a prolog */
    bool is_run;           /* sonde run: by its own user */
    pid_t pid;             /* whose descendants it consists of; 0: none */
    uint64_t pid_start_ns; /* of that process, since pids are reused; 0: unknown */
    struct program_job *next;
};

static void free_job(struct program_job *job)
{
    free(job->cgroup);
    free(job);
}

void program_jobs_clear(struct program_jobs *jobs)
{
    for (struct program_job *job = jobs->list, *next; job; job = next) {
        next = job->next;
        free_job(job);
    }
    jobs->list = NULL;
}

static struct program_job **find(struct program_jobs *jobs, const char *id)
{
    struct program_job **at = &jobs->list;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

static const struct program_job *find_any(const struct program_jobs *jobs, const char *id)
{
    const struct program_job *job = jobs->list;
    while (job && strcmp(job->id, id) != 0 && !(*job->other_id && strcmp(job->other_id, id) == 0))
        job = job->next;
    return job;
}

static void update_scope(struct registry *registry, const struct program_job *job, bool is_known)
{
    const char *reason;
    struct scope *scope = scopes_find_job(&registry->scopes, job->id, job->uid);
    if (!scope)
        return;
    if (is_known && !scope->job.is_known) /* it has no samples yet, and its programs may have ended */
        cells_mark_changed(scope);
    scope->job.is_known = is_known;
    scope->job.has_ended = !is_known;
    /* from the first value on that its programs report */
    scope->job.counts_syscalls = is_known && job_syscalls_state(job->id, &reason) == OK;
    scope->user.is_pending &= !*job->user;
    scope_set_user(scope, job->user);
}

static bool has_declared_cgroup(const struct program_job *job)
{
    return job->is_declared && job->cgroup;
}

/* Where its processes are. A run is registered before it starts any. */
static void place(struct program_jobs *jobs, struct program_job *known, const struct job *job)
{
    bool is_new = false;
    jobs->cgroup_count -= has_declared_cgroup(known);
    known->is_declared = strcmp(job->source, "told") == 0;
    known->is_run = strcmp(job->source, "run") == 0;
    if (*job->cgroup && !(known->cgroup && strcmp(known->cgroup, job->cgroup) == 0)) {
        free(known->cgroup);
        known->cgroup = strdup(job->cgroup);
        is_new = true;
    }
    if ((pid_t)job->pid != known->pid) {
        known->pid = (pid_t)job->pid;
        if (pid_start_ns(jobs->root, known->pid, &known->pid_start_ns))
            known->pid_start_ns = 0;
        is_new = true;
    }
    jobs->cgroup_count += has_declared_cgroup(known);
    jobs->changes += is_new && !known->is_run;
}

void program_jobs_update(struct program_jobs *jobs, struct registry *registry, const struct job *job, enum job_event event)
{
    struct program_job **at = find(jobs, job->id), *known = *at;
    if (event == JOB_END && known) {
        update_scope(registry, known, false);
        *at = known->next;
        jobs->cgroup_count -= has_declared_cgroup(known);
        free_job(known);
    }
    if (event == JOB_END)
        return;
    if (!known) {
        known = calloc(1, sizeof *known);
        if (!known)
            return;
        known->uid = job->uid;
        known->next = jobs->list;
        jobs->list = known;
    }
    if (known->uid != job->uid) { /* it was unknown: running programs move to the job of its user */
        update_scope(registry, known, false);
        jobs->changes++;
    }
    known->uid = job->uid;
    snprintf(known->id, sizeof known->id, "%s", job->id);
    snprintf(known->other_id, sizeof known->other_id, "%s", job->other_id);
    snprintf(known->user, sizeof known->user, "%s", job->user);
    place(jobs, known, job);
    update_scope(registry, known, true);
}

/* Root may name any process. */
static bool is_own_process(const struct program_jobs *jobs, pid_t pid, uint32_t claimer)
{
    uint32_t uid = UINT32_MAX;
    return pid > 0 && (claimer == 0 || (pid_uid(jobs->root, pid, &uid) == OK && uid == claimer));
}

/* The job with the innermost one of the cgroups that the process is in. */
static const struct program_job *job_by_group(const struct program_jobs *jobs, const char *membership)
{
    const struct program_job *best = NULL;
    for (const struct program_job *job = jobs->list; job; job = job->next)
        if (job->cgroup && (!best || strlen(job->cgroup) > strlen(best->cgroup)) && pid_job_in_group(membership, job->cgroup))
            best = job;
    return best;
}

/* By the cgroup names of batch systems, else by the cgroups that jobs were declared with. */
static const struct program_job *job_by_cgroup(const struct program_jobs *jobs, pid_t pid)
{
    char path[64], text[PID_CGROUP_MAX];
    const struct program_job *job = NULL;
    struct job_source_facts facts = { 0 };
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (file_read(jobs->root, path, text, sizeof text, NULL))
        return NULL;
    for (const char *at = pid_job_next(text, &facts); at && !job; at = pid_job_next(at, &facts))
        job = find_any(jobs, facts.id);
    return job ? job : job_by_group(jobs, text);
}

static bool is_process_of(const struct program_jobs *jobs, const struct program_job *job, pid_t pid)
{
    uint64_t start_ns;
    if (job->pid != pid || !job->pid_start_ns || pid_start_ns(jobs->root, pid, &start_ns))
        return job->pid == pid;
    uint64_t apart_ns = start_ns > job->pid_start_ns ? start_ns - job->pid_start_ns : job->pid_start_ns - start_ns;
    return apart_ns < NS_PER_S; /* the system clock may have been adjusted */
}

/* A user's run never contains programs of another user, whoever started them. */
static const struct program_job *job_of_process(const struct program_jobs *jobs, pid_t pid, uint32_t uid)
{
    const struct program_job *job = jobs->list;
    while (job && !(is_process_of(jobs, job, pid) && (!job->is_run || job->uid == uid || uid == 0)))
        job = job->next;
    return job;
}

/* The job of the nearest ancestor that a job was registered with. */
static const struct program_job *job_by_parents(const struct program_jobs *jobs, pid_t pid, uint32_t uid)
{
    const struct program_job *job = NULL;
    for (int i = 0; i < PARENTS_MAX && pid > 0 && !job; i++) {
        job = job_of_process(jobs, pid, uid);
        if (!job && pid_parent(jobs->root, pid, &pid))
            return NULL;
    }
    return job;
}

static bool has_processes(const struct program_jobs *jobs)
{
    const struct program_job *job = jobs->list;
    while (job && !job->pid)
        job = job->next;
    return job != NULL;
}

static const struct program_job *job_by_kernel(const struct program_jobs *jobs, const struct program_claim *claim)
{
    pid_t pid = claim->pid > 0 ? claim->pid : claim->parent;
    if (!jobs->list || !is_own_process(jobs, pid, claim->uid))
        return NULL;
    const struct program_job *job = job_by_cgroup(jobs, pid);
    return job || !has_processes(jobs) ? job : job_by_parents(jobs, pid, claim->uid);
}

bool program_jobs_have_changed(const struct program_jobs *jobs, uint64_t now_ns, struct program_job_check *check)
{
    bool are_new = check->changes != jobs->changes || (jobs->cgroup_count && now_ns - check->time_ns >= RECHECK_NS);
    if (are_new)
        *check = (struct program_job_check){ jobs->changes, now_ns };
    return are_new;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* A job that a person has named has no steps: "build-2" is not a step of "build". A prolog declares batch jobs by
 * number. */
static bool has_steps(const struct program_job *job)
{
    return (!job->is_declared && !job->is_run) || is_number(job->id);
}

bool program_jobs_must_check(const struct program_jobs *jobs, const struct scope *scope, enum program_job_source source,
                           uint64_t now_ns, struct program_job_check *check)
{
    bool is_rare = check->changes == jobs->changes && now_ns - check->time_ns < RECHECK_IN_JOB_NS;
    if (scope->job.is_known && (source == PROGRAM_JOB_BY_NAME || is_rare))
        return false;
    return program_jobs_have_changed(jobs, now_ns, check);
}

/* Tau appends the step: "4711-0". */
static const struct program_job *job_by_name(const struct program_jobs *jobs, const char *name)
{
    char id[JOB_ID_MAX];
    const struct program_job *job = find_any(jobs, name);
    const char *dash = strrchr(name, '-');
    if (job || !dash || (size_t)(dash - name) >= sizeof id
        || !(is_number(dash + 1) || strcmp(dash + 1, "batch") == 0 || strcmp(dash + 1, "extern") == 0))
        return job;
    memcpy(id, name, (size_t)(dash - name));
    id[dash - name] = '\0';
    job = find_any(jobs, id);
    return job && has_steps(job) ? job : NULL;
}

static struct scope *scope_of(struct registry *registry, const struct program_job *job)
{
    struct scope *scope = scopes_job(&registry->scopes, job->id, job->uid);
    if (scope && !scope->job.is_known)
        update_scope(registry, job, true);
    return scope;
}

/* Jobs that only programs have named stay for a while after them, so their number is limited. */
static struct scope *scope_named(struct registry *registry, const struct program_claim *claim)
{
    struct scope *scope = scopes_find_job(&registry->scopes, claim->job, claim->uid), *user;
    if (scope)
        return scope;
    user = scopes_user(&registry->scopes, claim->uid);
    if (!user || user->job_count < SCOPE_JOBS_MAX)
        return user ? scopes_job(&registry->scopes, claim->job, claim->uid) : NULL;
    registry->stats.left_out++;
    return user;
}

struct scope *program_jobs_kernel_scope(const struct program_jobs *jobs, struct registry *registry,
                                          const struct program_claim *claim)
{
    const struct program_job *job = job_by_kernel(jobs, claim);
    return job ? scope_of(registry, job) : NULL;
}

struct scope *program_jobs_scope(const struct program_jobs *jobs, struct registry *registry,
                                         const struct program_claim *claim, enum program_job_source *source)
{
    const struct program_job *job = job_by_kernel(jobs, claim);
    *source = job ? PROGRAM_JOB_BY_KERNEL : *claim->job ? PROGRAM_JOB_BY_NAME : PROGRAM_JOB_NONE;
    if (job)
        return scope_of(registry, job);
    job = *claim->job ? job_by_name(jobs, claim->job) : NULL;
    if (job && (job->uid == claim->uid || claim->uid == 0))
        return scope_of(registry, job);
    if (job)
        *source = PROGRAM_JOB_REFUSED;
    return *claim->job && !job ? scope_named(registry, claim) : scopes_user(&registry->scopes, claim->uid);
}

struct scope *program_jobs_scope_of_id(const struct program_jobs *jobs, struct registry *registry, const char *id)
{
    const struct program_job *job = find_any(jobs, id);
    return job ? scope_of(registry, job) : NULL;
}
