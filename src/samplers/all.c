/* The list of samplers of this build, one line each. */
#include "samplers/all.h"

const struct sampler *const sampler_all[] = {
    &sampler_process_tree,
    &sampler_loadavg,
    &sampler_meminfo,
    &sampler_stat,
    &sampler_vmstat,
    &sampler_interrupts,
    &sampler_diskstats,
    &sampler_netdev,
    &sampler_pressure,
    &sampler_schedstat,
    &sampler_numa,
    &sampler_edac,
    &sampler_nfs,
    &sampler_self,
    &sampler_rapl,
    &sampler_temperature,
    &sampler_gpu,
    &sampler_ipmi,
    &sampler_infiniband,
    &sampler_lustre,
    &sampler_jobs,
    &sampler_cgroup,
    &sampler_taskstats,
    &sampler_process,
    &sampler_perf,
    &sampler_syscalls,
    NULL,
};

const struct sampler *const sampler_run[] = {
    &sampler_process_tree,
    &sampler_loadavg,
    &sampler_meminfo,
    &sampler_stat,
    NULL,
};
