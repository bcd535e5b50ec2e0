/* Pure arithmetic: no files, no clocks. */
#include "samplers/energy_share.h"

double energy_share_fraction(uint64_t job_ns, uint64_t busy_ns)
{
    if (job_ns == 0)
        return 0;
    return job_ns >= busy_ns ? 1 : (double)job_ns / (double)busy_ns;
}

void energy_share_update(struct energy_share_job *job, uint64_t cpu_ns)
{
    if (cpu_ns > job->cpu_ns)
        job->pending_ns += cpu_ns - job->cpu_ns;
    job->cpu_ns = cpu_ns;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void energy_share_assign(const struct energy_share_pool *pool, uint64_t all_pending_ns, struct energy_share_job *job)
{
    double fraction = energy_share_fraction(job->pending_ns, larger(pool->busy_ns, all_pending_ns));
    for (size_t i = 0; i < ENERGY_SHARE_DOMAINS; i++)
        job->energy_uj[i] += fraction * pool->energy_uj[i];
    job->pending_ns = 0;
}

void energy_share_end(struct energy_share_pool *pool, struct energy_share_job *job)
{
    double fraction = energy_share_fraction(job->pending_ns, pool->busy_ns);
    for (size_t i = 0; i < ENERGY_SHARE_DOMAINS; i++) {
        double part_uj = fraction * pool->energy_uj[i];
        job->energy_uj[i] += part_uj;
        pool->energy_uj[i] -= part_uj;
    }
    pool->busy_ns -= job->pending_ns < pool->busy_ns ? job->pending_ns : pool->busy_ns;
    job->pending_ns = 0;
}

void energy_share_reset(struct energy_share_pool *pool)
{
    *pool = (struct energy_share_pool){ 0 };
}
