/* The processes or threads that a job has now: from the files of its cgroup and of those below it, or, where it has none,
 * the descendants of its first process. Also the CPU time that the cgroup itself has counted.
 *
 * Directories and files stay open while there are descriptors for it; the jobs beyond that are opened at each look. */
#ifndef SONDE_SAMPLERS_JOBS_JOB_TASKS_H
#define SONDE_SAMPLERS_JOBS_JOB_TASKS_H

#include "model/job.h"
#include "samplers/jobs/cgroup_mounts.h"

struct job_directory {
    char *path;
    int dir_fd, list_fd; /* -1: not kept open */
    uint64_t links;      /* of the directory: 2, and 1 for each directory in it */
};

/* One job. */
struct job_tasks {
    const struct job *job; /* borrowed */
    bool unified, is_stale;
    struct job_directory *directories; /* the job's own first, then all below it */
    size_t count, capacity;
    char *cpu_path; /* NULL: its cgroup counts no CPU time */
    int cpu_fd;
};

/* A job whose cgroup is not there (yet) has no tasks. NOMEM. */
enum err job_tasks_open(struct cgroup_mounts *groups, struct job_tasks *tasks, const struct job *job);
void job_tasks_close(struct cgroup_mounts *groups, struct job_tasks *tasks);

/* Adds all to out; some may be there twice. known: processes that are known to be the job's, from which the search for
 * descendants begins too; without a meaning for a job with a cgroup. */
enum err job_tasks_list(struct cgroup_mounts *groups, struct job_tasks *tasks, const struct pidlist *known,
                        struct pidlist *out);

/* ABSENT: the cgroup counts none. GONE: the cgroup is not there. */
enum err job_tasks_cpu_ns(struct cgroup_mounts *groups, struct job_tasks *tasks, uint64_t *cpu_ns);

/* The parser of the lists, one number in each line. Adds the whole lines and says how many bytes they were. CORRUPT:
 * something else stands there. Takes any text. */
enum err job_tasks_parse(const char *text, struct pidlist *out, size_t *used);

#endif
