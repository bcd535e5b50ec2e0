/* Checks each prefix of the cgroup path, then the environment in the order of job_id.c. */
#include "jobs/pid_job.h"

#include "base/file.h"
#include "base/scan.h"
#include "proc/pid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRON_MAX (256u << 10)

/* The first prefix of the path that is the cgroup of a job. */
static bool find_job_in_path(const char *path, size_t size, struct job_source_facts *facts)
{
    char part[FILE_PATH_MAX];
    const struct job_source *source;
    if (size >= sizeof part)
        return false;
    for (size_t i = 1; i <= size; i++) {
        if (i < size && path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (job_source_classify(part, &source, facts) == CGROUP_JOB)
            return true;
    }
    return false;
}

/* "4:memory:/slurm/uid_0/job_4711/step_0", "0::/…" */
const char *pid_job_next(const char *text, struct job_source_facts *facts)
{
    for (const char *line = text, *next; line && *line; line = next) {
        const char *colon = strchr(line, ':'), *at = colon ? strchr(colon + 1, ':') : NULL;
        next = scan_next_line(line);
        if (at && find_job_in_path(at + 1, strcspn(at + 1, "\n"), facts))
            return next ? next : "";
    }
    return NULL;
}

bool pid_job_in_group(const char *membership, const char *group)
{
    size_t size = strlen(group);
    while (size > 1 && group[size - 1] == '/')
        size--;
    for (const char *line = membership; size && line; line = scan_next_line(line)) {
        const char *path = strchr(line, ':');
        path = path ? strchr(path + 1, ':') : NULL; /* "4:cpu,cpuacct:/slurm/job_1" */
        if (path && !strncmp(path + 1, group, size) && strchr("/\n", path[1 + size]))
            return true; /* strchr also finds the NUL at the end */
    }
    return false;
}

static bool find_by_cgroup(const char *root, pid_t pid, char id[JOB_ID_MAX])
{
    char path[64], text[PID_CGROUP_MAX];
    struct job_source_facts facts = { 0 };
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (file_read(root, path, text, sizeof text, NULL) != OK || !pid_job_next(text, &facts) || facts.id_is_secondary)
        return false;
    memcpy(id, facts.id, JOB_ID_MAX);
    return true;
}

struct environment {
    char *text;
    size_t size;
};

static const char *find_in_environment(const void *context, const char *name)
{
    const struct environment *environment = context;
    return pid_environ_find(environment->text, environment->size, name);
}

static void find_by_environment(const char *root, pid_t pid, bool accepts_sonde_job, struct job_id *job)
{
    struct environment environment = { malloc(ENVIRON_MAX), 0 };
    if (environment.text && pid_environ(root, pid, environment.text, ENVIRON_MAX, &environment.size) == OK) {
        job_id_from(job, find_in_environment, &environment);
        const char *own = accepts_sonde_job ? find_in_environment(&environment, "SONDE_JOB") : NULL;
        if (own && *own && strlen(own) < JOB_ID_MAX)
            memcpy(job->id, own, strlen(own) + 1);
    }
    free(environment.text);
}

enum err pid_job(const char *root, pid_t pid, bool accepts_sonde_job, struct job_id *job)
{
    uint32_t uid;
    *job = (struct job_id){ 0 };
    if (pid_uid(root, pid, &uid) != OK)
        return GONE;
    find_by_environment(root, pid, accepts_sonde_job, job);
    find_by_cgroup(root, pid, job->id);
    return job->id[0] ? OK : ABSENT;
}
