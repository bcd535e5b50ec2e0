/* Whose energy it was: what the node used is given to its jobs by the CPU time that they used of it.
 *
 *     energy of a job = energy of the node x CPU time of the job / busy CPU time of the node
 *
 * The energy of a stretch of time is gathered in a pool and given out in rounds. A job that ends between two rounds takes
 * its share with it, so that the shares never add up to more than the node used; the rest is of nobody's job. */
#ifndef SONDE_SAMPLERS_ENERGY_SHARE_H
#define SONDE_SAMPLERS_ENERGY_SHARE_H

#include <stddef.h>
#include <stdint.h>

#define ENERGY_SHARE_DOMAINS 5 /* of energy: package, core, uncore, dram, psys */

/* What the node used since the last round. */
struct energy_share_pool {
    double energy_uj[ENERGY_SHARE_DOMAINS];
    uint64_t busy_ns; /* CPU time of all CPUs that were not idle */
};

struct energy_share_job {
    uint64_t cpu_ns;               /* at the last round */
    uint64_t pending_ns;           /* used since */
    double energy_uj[ENERGY_SHARE_DOMAINS]; /* given to it so far */
};

/* From 0 to 1; 0 where nobody used anything. The job may seem to have used more than all, since the kernel counts the
 * node's time in ticks and the job's exactly: then it had all of it. */
double energy_share_fraction(uint64_t job_ns, uint64_t busy_ns);

/* The CPU time of the job is now cpu_ns. A count that went back (another group of the same name) begins anew. */
void energy_share_update(struct energy_share_job *job, uint64_t cpu_ns);

/* A round: call energy_share_update for each job, add their pending_ns up, then pay each, then energy_share_reset. */
void energy_share_assign(const struct energy_share_pool *pool, uint64_t all_pending_ns, struct energy_share_job *job);

/* The job ends between two rounds: pays it, and takes what it had out of the pool. */
void energy_share_end(struct energy_share_pool *pool, struct energy_share_job *job);

/* After a round: the pool is empty. */
void energy_share_reset(struct energy_share_pool *pool);

#endif
