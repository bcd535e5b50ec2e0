/* Attributes the node's energy to its jobs: reads their CPU time in rounds and adds their shares as samples of the
 * metric set "energy". */
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
    int stat_fd;              /* /proc/stat; -1: not readable, nothing is attributed */
    struct cgroup_cpu_mounts mounts;
    struct pid_cpu pid_cpu;
    bool has_pid_cpu;          /* opened for the first job without a cgroup */
    struct rapl_job **slots;  /* by job.slot; NULL: no job */
    struct rapl_job *ended;   /* ended jobs, whose id a batch may still borrow */
    size_t capacity, count, open_files;
    struct energy_share_pool pool;
    bool began;               /* the next three are valid */
    uint64_t busy_ns, totals_uj[RAPL_METERS_MAX], breaks[RAPL_METERS_MAX]; /* values when the pool was last filled */
    bool lost[RAPL_DOMAINS];  /* energy of the domain since the last round is unknown */
    bool counted[RAPL_DOMAINS]; /* the node has a meter of the domain */
    uint64_t round_ns;        /* CLOCK_MONOTONIC of the last round; 0: the next is due */
};

/* root is borrowed until rapl_jobs_close. */
void rapl_jobs_open(struct rapl_jobs *jobs, const char *root, const struct rapl_meters *meters);
void rapl_jobs_close(struct rapl_jobs *jobs);

/* Handles a job event. The meters must have been read just before. At JOB_BEGIN and JOB_END a sample is added to out,
 * unless it is NULL. On an error here or in a round a share is missing this time; the next round makes up for it as far
 * as possible. */
enum err rapl_jobs_event(struct rapl_jobs *jobs, const struct job *job, enum job_event event,
                         const struct rapl_meters *meters, struct batch *out);

/* Call at each reading, after the meters. Distributes the pool if period_ns has passed since the last round; else sets
 * out->is_part. */
enum err rapl_jobs_round(struct rapl_jobs *jobs, const struct rapl_meters *meters, uint64_t now_ns, uint64_t period_ns,
                         struct batch *out);

#endif
