/* A cgroup and a parent are the kernel's word; a variable in the environment is the program's, which counts for jobs of its own
 * user. So does a pid: a board has it from who wrote it, and a socket's may have been given to another process since. */
#include "appmetrics/program_job.h"

#include "base/clock.h"
#include "base/file.h"
#include "proc/pid.h"
#include "jobs/pid_job.h"
#include "appmetrics/cells.h"
#include "samplers/jobs/syscalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARENTS_MAX 256
#define MOVES_NS (NS_PER_S / 2) /* who is moved into a cgroup is found after a while: a client may say thousands of things */
#define MOVES_RARELY_NS (5 * NS_PER_S) /* who has a job already hardly ever is, and to look costs several system calls */

struct program_job {
    char id[JOB_ID_MAX], other_id[JOB_ID_MAX], user[PROGRAM_USER_MAX];
    uint32_t uid;
    char *cgroup;          /* NULL: none */
    bool is_told, is_run;  /* by somebody with authority, or by its own user */
    pid_t pid;             /* whose descendants it is; 0: nobody's */
    uint64_t pid_start_ns; /* of that process: pids are used again. 0: not known */
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

static void rename_scope(struct program_table *table, const struct program_job *job, bool is_known)
{
    const char *why;
    struct program_scope *scope = program_scope_find(table, job->id, job->uid);
    if (!scope)
        return;
    if (is_known && !scope->is_known) /* nothing of it was written before, and its programs may have gone */
        program_scope_tell(table, scope);
    scope->is_known = is_known;
    scope->has_ended = !is_known;
    scope->by_kernel = is_known && job_syscalls_state(job->id, &why) == OK; /* from the first number on that its programs tell */
    if (!*job->user)
        return;
    snprintf(scope->user, sizeof scope->user, "%s", job->user);
    scope->is_unnamed = false;
    program_scope_name(table, scope);
}

static bool is_group(const struct program_job *job)
{
    return job->is_told && job->cgroup;
}

/* Where its processes are. A run tells of itself before it has any that could speak. */
static void place(struct program_jobs *jobs, struct program_job *known, const struct job *job)
{
    bool is_new = false;
    jobs->groups -= is_group(known);
    known->is_told = strcmp(job->source, "told") == 0;
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
    jobs->groups += is_group(known);
    jobs->places += is_new && !known->is_run;
}

void program_jobs_event(struct program_jobs *jobs, struct program_table *table, const struct job *job, enum job_event event)
{
    struct program_job **at = find(jobs, job->id), *known = *at;
    if (event == JOB_END && known) {
        rename_scope(table, known, false);
        *at = known->next;
        jobs->groups -= is_group(known);
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
    if (known->uid != job->uid) { /* it was not known before: programs that speak already move to the job of its user */
        rename_scope(table, known, false);
        jobs->places++;
    }
    known->uid = job->uid;
    snprintf(known->id, sizeof known->id, "%s", job->id);
    snprintf(known->other_id, sizeof known->other_id, "%s", job->other_id);
    snprintf(known->user, sizeof known->user, "%s", job->user);
    place(jobs, known, job);
    rename_scope(table, known, true);
}

/* Root may speak for anybody's process. */
static bool is_own_process(const struct program_jobs *jobs, pid_t pid, uint32_t claimer)
{
    uint32_t uid = UINT32_MAX;
    return pid > 0 && (claimer == 0 || (pid_uid(jobs->root, pid, &uid) == OK && uid == claimer));
}

/* The job with the cgroup that lies deepest, of those that one is in. */
static const struct program_job *job_by_group(const struct program_jobs *jobs, const char *membership)
{
    const struct program_job *best = NULL;
    for (const struct program_job *job = jobs->list; job; job = job->next)
        if (job->cgroup && (!best || strlen(job->cgroup) > strlen(best->cgroup)) && pid_job_in_group(membership, job->cgroup))
            best = job;
    return best;
}

/* By the names that batch systems give to their folders, else by those that were told. */
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
    return apart_ns < NS_PER_S; /* the clock of the day may be corrected a little */
}

/* What a user has told holds nobody else's programs, whoever made them. */
static const struct program_job *job_of_process(const struct program_jobs *jobs, pid_t pid, uint32_t uid)
{
    const struct program_job *job = jobs->list;
    while (job && !(is_process_of(jobs, job, pid) && (!job->is_run || job->uid == uid || uid == 0)))
        job = job->next;
    return job;
}

/* Of the nearest of its ancestors that a job was told with. */
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

bool program_jobs_are_new(const struct program_jobs *jobs, uint64_t now_ns, struct program_asked *asked)
{
    bool are_new = asked->places != jobs->places || (jobs->groups && now_ns - asked->time_ns >= MOVES_NS);
    if (are_new)
        *asked = (struct program_asked){ jobs->places, now_ns };
    return are_new;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* A job that a person named has no steps: beside "build", "build-2" is another one. A prolog tells of batch jobs by number. */
static bool has_steps(const struct program_job *job)
{
    return (!job->is_told && !job->is_run) || is_number(job->id);
}

bool program_jobs_may_move(const struct program_jobs *jobs, const struct program_scope *scope, enum program_word word,
                           uint64_t now_ns, struct program_asked *asked)
{
    bool is_rare = asked->places == jobs->places && now_ns - asked->time_ns < MOVES_RARELY_NS;
    if (scope->is_known && (word == PROGRAM_BY_ITSELF || is_rare))
        return false;
    return program_jobs_are_new(jobs, now_ns, asked);
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

static struct program_scope *scope_of(struct program_table *table, const struct program_job *job)
{
    struct program_scope *scope = program_scope_job(table, job->id, job->uid);
    if (scope && !scope->is_known)
        rename_scope(table, job, true);
    return scope;
}

/* A job that only programs name stays for a while after them: a program that names one after another must not fill the node. */
static struct program_scope *scope_told(struct program_table *table, const struct program_claim *claim)
{
    struct program_scope *scope = program_scope_find(table, claim->job, claim->uid), *user;
    if (scope)
        return scope;
    user = program_scope_user(table, claim->uid);
    if (!user || user->job_count < PROGRAM_JOBS_MAX)
        return user ? program_scope_job(table, claim->job, claim->uid) : NULL;
    table->figures.left_out++;
    return user;
}

struct program_scope *program_jobs_placed(const struct program_jobs *jobs, struct program_table *table,
                                          const struct program_claim *claim)
{
    const struct program_job *job = job_by_kernel(jobs, claim);
    return job ? scope_of(table, job) : NULL;
}

struct program_scope *program_jobs_scope(const struct program_jobs *jobs, struct program_table *table,
                                         const struct program_claim *claim, enum program_word *word)
{
    const struct program_job *job = job_by_kernel(jobs, claim);
    *word = job ? PROGRAM_BY_KERNEL : *claim->job ? PROGRAM_BY_ITSELF : PROGRAM_BY_NOBODY;
    if (job)
        return scope_of(table, job);
    job = *claim->job ? job_by_name(jobs, claim->job) : NULL;
    if (job && (job->uid == claim->uid || claim->uid == 0))
        return scope_of(table, job);
    if (job)
        *word = PROGRAM_REFUSED;
    return *claim->job && !job ? scope_told(table, claim) : program_scope_user(table, claim->uid);
}

struct program_scope *program_jobs_named(const struct program_jobs *jobs, struct program_table *table, const char *id)
{
    const struct program_job *job = find_any(jobs, id);
    return job ? scope_of(table, job) : NULL;
}
