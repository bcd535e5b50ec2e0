/* The jobs among whom the node's energy is shared out: their CPU time is read in rounds, and their shares become samples
 * of the set "energy". */
#ifndef SONDE_SAMPLERS_RAPL_JOBS_H
#define SONDE_SAMPLERS_RAPL_JOBS_H

#include "model/batch.h"
#include "model/job.h"
#include "samplers/energy_share.h"
#include "samplers/jobs/cgroup_cpu.h"
#include "samplers/jobs/pid_cpu.h"
#include "samplers/rapl_meter.h"

struct rapl_job;

/* Zeroed at first. */
struct rapl_jobs {
    const char *root;
    int stat_fd;              /* /proc/stat; -1: not to be read, nothing is shared out */
    struct cgroup_cpu_mounts mounts;
    struct pid_cpu pid_cpu;
    bool has_pid_cpu;          /* opened when the first job without a cgroup comes */
    struct rapl_job **slots;  /* by job.slot; NULL: none there */
    struct rapl_job *ended;   /* whose ids may be in a batch still */
    size_t capacity, count, open_files;
    struct energy_share_pool pool;
    bool began;               /* the next three have a meaning */
    uint64_t busy_ns, totals_uj[RAPL_METERS_MAX], breaks[RAPL_METERS_MAX]; /* when the pool was last filled */
    bool lost[RAPL_DOMAINS];  /* nobody knows all that was used since the last round */
    bool counted[RAPL_DOMAINS]; /* the node has such a meter */
    uint64_t round_ns;        /* CLOCK_MONOTONIC of the last round; 0: the next is due */
};

/* root is borrowed until rapl_jobs_close. */
void rapl_jobs_open(struct rapl_jobs *jobs, const char *root, const struct rapl_meters *meters);
void rapl_jobs_close(struct rapl_jobs *jobs);

/* Hears of a job. At its beginning and its end a sample is added to out, unless that is NULL. The meters were read just
 * now. An error here or in a round means that somebody has no share this time: the next round makes good what it can. */
enum err rapl_jobs_event(struct rapl_jobs *jobs, const struct job *job, enum job_event event,
                         const struct rapl_meters *meters, struct batch *out);

/* At each reading, after that of the meters; gives out what came together when period_ns has passed since the last time,
 * else says that out is but a part. */
enum err rapl_jobs_round(struct rapl_jobs *jobs, const struct rapl_meters *meters, uint64_t now_ns, uint64_t period_ns,
                         struct batch *out);

#endif
