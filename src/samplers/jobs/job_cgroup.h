/* One cgroup that is read at each tick, of a job or a step. Keeps the last successful reading, because a cgroup may be
 * removed before it can be read one last time. */
#ifndef SONDE_SAMPLERS_JOBS_JOB_CGROUP_H
#define SONDE_SAMPLERS_JOBS_JOB_CGROUP_H

#include "base/err.h"
#include "jobs/job_source.h"
#include "model/batch.h"
#include "samplers/jobs/cgroup_files.h"
#include "samplers/jobs/oom_kills.h"

/* Shared by all cgroups of the sampler. */
struct job_cgroup_context {
    const char *root; /* borrowed */
    struct hierarchies hierarchies;
    struct cgroup_devices devices;
    unsigned kept, kept_max; /* descriptors kept open, and the limit; beyond it files are opened at each reading */
};

struct job_cgroup {
    struct job_cgroup *next;
    const struct cgroup_files *files;
    char step[JOB_SOURCE_NAME_MAX]; /* "": the whole job */
    char *path;                 /* owned */
    bool is_gone;              /* removed; its last values are still to be reported */
    bool has_unreported;               /* it has values that were not reported yet */
    bool is_listed;             /* found by the current listing of steps */
    unsigned readings;
    struct cgroup_values last;           /* the latest value of each metric */
    uint64_t base[CGROUP_METRICS_SIZE];  /* of counters: counted before the cgroup was removed and created again */
    bool was_removed;
    struct oom_kills oom; /* v1 */
    uint64_t kills, limit_hits, limit_hits_before; /* OOM kills, and readings of memory_limit_hits */
    uint64_t read_ns;                    /* CLOCK_REALTIME of the last reading */
    uint8_t fresh[CGROUP_METRICS_SIZE];  /* metrics set by the last reading */
    uint8_t final[CGROUP_METRICS_SIZE];  /* metrics read after its last task exited: they cannot have changed since */
    int fds[CGROUP_FILES_MAX];
};

/* path is relative to the mount points. NULL: no memory. */
struct job_cgroup *job_cgroup_new(const char *path, bool unified, const char *step);
void job_cgroup_free(struct job_cgroup **group, struct job_cgroup_context *place);

/* Reads all files into last. check_tasks: also checks whether tasks are in it, because it may be the last time that it
 * can be read, and counts OOM kills below it. GONE: nothing can be read any more; the previous values are kept. */
enum err job_cgroup_read(struct job_cgroup *group, struct job_cgroup_context *place, bool check_tasks);

/* Did it reach its memory limit between the last two readings? */
bool job_cgroup_has_hit_limit(const struct job_cgroup *group);

/* Retries files that did not exist. */
void job_cgroup_retry_files(struct job_cgroup *group);

/* Adds a sample of the last reading. If the cgroup disappeared after a reading that was not reported, that reading
 * is reported with its time. GONE: there is nothing to report. job and the cgroup are borrowed until the batch is
 * emptied. */
enum err job_cgroup_add(struct job_cgroup *group, const struct set *set, const char *job, struct batch *out);

/* Adds the last sample: the values that were just read, and those read after its tasks had exited. cpu_us: CPU time of
 * its tasks from another source, for a cgroup that can no longer be read; 0: unknown. */
enum err job_cgroup_add_last(struct job_cgroup *group, const struct set *set, const char *job, uint64_t cpu_us,
                             struct batch *out);

#endif
