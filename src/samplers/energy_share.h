/* Attributes the node's energy to jobs in proportion to their CPU time:
 *
 * energy of a job = energy of the node x CPU time of the job / busy CPU time of the node
 *
 * Energy is collected in a pool and distributed in rounds. A job that ends between two rounds takes its share out of
 * the pool, so that the shares never exceed what the node used. Energy used by other processes is not attributed. */
#ifndef SONDE_SAMPLERS_ENERGY_SHARE_H
#define SONDE_SAMPLERS_ENERGY_SHARE_H

#include <stddef.h>
#include <stdint.h>

#define ENERGY_SHARE_DOMAINS 5 /* package, core, uncore, dram, psys */

/* What the node used since the last round. */
struct energy_share_pool {
    double energy_uj[ENERGY_SHARE_DOMAINS];
    uint64_t busy_ns; /* CPU time of all CPUs, without idle time */
};

struct energy_share_job {
    uint64_t cpu_ns;               /* total CPU time of the job at the last update */
    uint64_t pending_ns;           /* CPU time since the last round */
    double energy_uj[ENERGY_SHARE_DOMAINS]; /* attributed to it so far */
};

/* 0 to 1. The job may seem to have used more than the whole node, because the kernel counts the node's time in ticks
 * and the job's exactly: then it gets all of it. */
double energy_share_fraction(uint64_t job_ns, uint64_t busy_ns);

/* Records the job's CPU time. A smaller value than before (another cgroup of the same name) restarts counting. */
void energy_share_update(struct energy_share_job *job, uint64_t cpu_ns);

/* A round: energy_share_update for each job, add up their pending_ns, energy_share_assign for each,
 * energy_share_reset. */
void energy_share_assign(const struct energy_share_pool *pool, uint64_t all_pending_ns, struct energy_share_job *job);

/* The job ends between two rounds: assigns its share and takes it out of the pool. */
void energy_share_end(struct energy_share_pool *pool, struct energy_share_job *job);

/* Empties the pool after a round. */
void energy_share_reset(struct energy_share_pool *pool);

#endif
