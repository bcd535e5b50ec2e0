/* Paths of cgroups are asked part by part; variables in the order of job_id.c. */
#include "jobs/pid_job.h"

#include "base/file.h"
#include "base/scan.h"
#include "proc/pid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRON_MAX (256u << 10)

/* The first folder on the way that is a job. */
static bool job_on_way(const char *path, size_t size, struct source_facts *facts)
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
        if (source_place(part, &source, facts) == PLACE_JOB)
            return true;
    }
    return false;
}

/* "4:memory:/slurm/uid_0/job_4711/step_0", "0::/…" */
const char *pid_job_next(const char *text, struct source_facts *facts)
{
    for (const char *line = text, *next; line && *line; line = next) {
        const char *colon = strchr(line, ':'), *at = colon ? strchr(colon + 1, ':') : NULL;
        next = scan_next_line(line);
        if (at && job_on_way(at + 1, strcspn(at + 1, "\n"), facts))
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
            return true; /* strchr finds the NUL at the end, too */
    }
    return false;
}

static bool find_by_cgroup(const char *root, pid_t pid, char id[ID_MAX])
{
    char path[64], text[PID_CGROUP_MAX];
    struct source_facts facts = { 0 };
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (file_read(root, path, text, sizeof text, NULL) != OK || !pid_job_next(text, &facts) || facts.id_is_other)
        return false;
    memcpy(id, facts.id, ID_MAX);
    return true;
}

struct environment {
    char *text;
    size_t size;
};

static const char *find_there(const void *context, const char *name)
{
    const struct environment *environment = context;
    return pid_environ_find(environment->text, environment->size, name);
}

static void find_by_environment(const char *root, pid_t pid, bool is_any, struct id *job)
{
    struct environment environment = { malloc(ENVIRON_MAX), 0 };
    if (environment.text && pid_environ(root, pid, environment.text, ENVIRON_MAX, &environment.size) == OK) {
        id_from(job, find_there, &environment);
        const char *own = is_any ? find_there(&environment, "SONDE_JOB") : NULL;
        if (own && *own && strlen(own) < ID_MAX)
            memcpy(job->id, own, strlen(own) + 1);
    }
    free(environment.text);
}

enum err pid_job(const char *root, pid_t pid, bool is_any, struct id *job)
{
    uint32_t uid;
    *job = (struct id){ 0 };
    if (pid_uid(root, pid, &uid) != OK)
        return GONE;
    find_by_environment(root, pid, is_any, job);
    find_by_cgroup(root, pid, job->id);
    return job->id[0] ? OK : ABSENT;
}
