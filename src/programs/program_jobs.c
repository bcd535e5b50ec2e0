/* A cgroup is the kernel's word; a variable in the environment is the program's, which counts for jobs of its own user. So does a
 * pid: a board has it from who wrote it, and a socket's may have been given to another process since. */
#include "programs/program_jobs.h"

#include "base/file.h"
#include "job/pid.h"
#include "job/pid_job.h"
#include "programs/program_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program_job {
    char id[ID_MAX], other_id[ID_MAX], user[PROGRAM_USER_MAX];
    uint32_t uid;
    struct program_job *next;
};

void program_jobs_clear(struct program_jobs *jobs)
{
    for (struct program_job *job = jobs->list, *next; job; job = next) {
        next = job->next;
        free(job);
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
    struct program_scope *scope = program_scope_find(table, job->id, job->uid);
    if (!scope)
        return;
    scope->is_known = is_known;
    snprintf(scope->user, sizeof scope->user, "%s", job->user);
    program_scope_name(table, scope);
}

void program_jobs_event(struct program_jobs *jobs, struct program_table *table, const struct job *job, enum job_event event)
{
    struct program_job **at = find(jobs, job->id), *known = *at;
    if (event == JOB_END && known) {
        rename_scope(table, known, false);
        *at = known->next;
        free(known);
    }
    if (event == JOB_END)
        return;
    if (!known) {
        known = calloc(1, sizeof *known);
        if (!known)
            return;
        known->next = jobs->list;
        jobs->list = known;
    }
    known->uid = job->uid;
    snprintf(known->id, sizeof known->id, "%s", job->id);
    snprintf(known->other_id, sizeof known->other_id, "%s", job->other_id);
    snprintf(known->user, sizeof known->user, "%s", job->user);
    rename_scope(table, known, true);
}

/* Root may speak for anybody's process. */
static bool is_own_process(const struct program_jobs *jobs, const struct program_claim *claim)
{
    uint32_t uid = UINT32_MAX;
    return claim->pid > 0 && (claim->uid == 0 || (pid_uid(jobs->root, claim->pid, &uid) == OK && uid == claim->uid));
}

static const struct program_job *job_by_cgroup(const struct program_jobs *jobs, const struct program_claim *claim)
{
    char path[64], text[PID_CGROUP_MAX];
    const struct program_job *job = NULL;
    struct source_facts facts = { 0 };
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)claim->pid);
    if (!is_own_process(jobs, claim) || file_read(jobs->root, path, text, sizeof text, NULL))
        return NULL;
    for (const char *at = pid_job_next(text, &facts); at && !job; at = pid_job_next(at, &facts))
        job = find_any(jobs, facts.id);
    return job;
}

/* Tau appends the step: "4711-0". */
static const struct program_job *job_by_name(const struct program_jobs *jobs, const char *name)
{
    char id[ID_MAX];
    const struct program_job *job = find_any(jobs, name);
    const char *dash = strrchr(name, '-');
    if (job || !dash || (size_t)(dash - name) >= sizeof id)
        return job;
    memcpy(id, name, (size_t)(dash - name));
    id[dash - name] = '\0';
    return find_any(jobs, id);
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

struct program_scope *program_jobs_scope(const struct program_jobs *jobs, struct program_table *table,
                                         const struct program_claim *claim, bool *refused)
{
    *refused = false;
    const struct program_job *job = jobs->list ? job_by_cgroup(jobs, claim) : NULL;
    if (job)
        return scope_of(table, job);
    job = *claim->job ? job_by_name(jobs, claim->job) : NULL;
    if (job && (job->uid == claim->uid || claim->uid == 0))
        return scope_of(table, job);
    *refused = job != NULL;
    return *claim->job && !job ? scope_told(table, claim) : program_scope_user(table, claim->uid);
}

struct program_scope *program_jobs_named(const struct program_jobs *jobs, struct program_table *table, const char *id)
{
    const struct program_job *job = find_any(jobs, id);
    return job ? scope_of(table, job) : NULL;
}
