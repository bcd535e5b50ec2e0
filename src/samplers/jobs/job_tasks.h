/* Lists the processes or threads of a job: from the files of its cgroup and those below it, or, without a cgroup, the
 * descendants of its first process. Also reads the CPU time that the cgroup has counted.
 *
 * Directories and files stay open up to a limit; beyond it they are opened at each reading. */
#ifndef SONDE_SAMPLERS_JOBS_JOB_TASKS_H
#define SONDE_SAMPLERS_JOBS_JOB_TASKS_H

#include "model/job.h"
#include "samplers/jobs/cgroup_mounts.h"

struct job_directory {
    char *path;
    int dir_fd, list_fd; /* -1: not kept open */
    uint64_t links;      /* link count of the directory: 2 plus the number of subdirectories */
};

/* One job. */
struct job_tasks {
    const struct job *job; /* borrowed */
    bool unified, is_stale;
    struct job_directory *directories; /* the job's own directory first, then all below it */
    size_t count, capacity;
    char *cpu_path; /* NULL: its cgroup counts no CPU time */
    int cpu_fd;
};

/* A job whose cgroup does not exist (yet) has no tasks. NOMEM. */
enum err job_tasks_open(struct cgroup_mounts *mounts, struct job_tasks *tasks, const struct job *job);
void job_tasks_close(struct cgroup_mounts *mounts, struct job_tasks *tasks);

/* Adds all to out; some may be duplicates. known: further processes of the job from which to search for descendants;
 * ignored for a job with a cgroup. */
enum err job_tasks_list(struct cgroup_mounts *mounts, struct job_tasks *tasks, const struct pidlist *known,
                        struct pidlist *out);

/* ABSENT: the cgroup counts no CPU time. GONE: the cgroup does not exist. */
enum err job_tasks_cpu_ns(struct cgroup_mounts *mounts, struct job_tasks *tasks, uint64_t *cpu_ns);

/* Parses lists of one number per line: adds the complete lines and sets *used to their size. CORRUPT: something else is
 * in the text. Accepts any text. */
enum err job_tasks_parse(const char *text, struct pidlist *out, size_t *used);

#endif
