/* One control group that is read at each tick: a job or a step of one. Keeps the last good reading, since a group may be
 * gone before anybody could read it for the last time. */
#ifndef SONDE_SAMPLERS_JOBS_JOB_CGROUP_H
#define SONDE_SAMPLERS_JOBS_JOB_CGROUP_H

#include "base/err.h"
#include "jobs/job_source.h"
#include "model/batch.h"
#include "samplers/jobs/cgroup_files.h"

/* What all groups share. */
struct job_cgroup_context {
    const char *root; /* borrowed */
    struct hierarchies hierarchies;
    struct cgroup_devices devices;
    unsigned kept, kept_max; /* descriptors that stay open; a group that has none is opened at each reading */
};

struct job_cgroup {
    struct job_cgroup *next;
    const struct cgroup_files *files;
    char step[JOB_SOURCE_NAME_MAX]; /* "": the whole job */
    char *path;                 /* owned */
    bool is_gone;              /* its last values are still to be given */
    bool has_unreported;               /* there are values that nobody was given yet */
    bool is_listed;             /* was found by the listing of steps that is under way */
    unsigned readings;
    struct cgroup_values last;           /* of each metric the newest value that there was */
    uint64_t read_ns;                    /* CLOCK_REALTIME: when */
    uint8_t fresh[CGROUP_METRICS_SIZE];  /* those that the newest reading gave */
    uint8_t final[CGROUP_METRICS_SIZE];  /* those that were read when its tasks had ended: they cannot have changed */
    int fds[CGROUP_FILES_MAX];
};

/* path is below the hierarchies' mounts. NULL: no memory. */
struct job_cgroup *job_cgroup_new(const char *path, bool unified, const char *step);
void job_cgroup_free(struct job_cgroup **group, struct job_cgroup_context *place);

/* Reads all of it into last. look_inside: also whether there are tasks in it; it may be the last time that it can be read.
 * GONE: there is nothing to be read any more; what was read before stays. */
enum err job_cgroup_read(struct job_cgroup *group, struct job_cgroup_context *place, bool check_tasks);

/* Files that were not there are looked for again. */
void job_cgroup_retry_files(struct job_cgroup *group);

/* Adds what the newest reading gave. A group that vanished after a reading of which nobody was told gives that, with its time.
 * GONE: there is nothing to give. job is borrowed until the batch is emptied, and so is the group. */
enum err job_cgroup_add(struct job_cgroup *group, const struct set *set, const char *job, struct batch *out);

/* Adds what can be said of it at its end: what was read just now, and what was read when its tasks had ended. cpu_us: what its
 * tasks are known to have used, where the group itself cannot tell any more; 0: not known. */
enum err job_cgroup_add_last(struct job_cgroup *group, const struct set *set, const char *job, uint64_t cpu_us,
                             struct batch *out);

#endif
