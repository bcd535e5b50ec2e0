/* All samplers. Each is defined in the file of its name, those of jobs in samplers/jobs/. */
#ifndef SONDE_SAMPLERS_ALL_H
#define SONDE_SAMPLERS_ALL_H

#include "samplers/sampler.h"

extern const struct sampler sampler_null; /* the file to copy; not in sampler_all */

extern const struct sampler sampler_process_tree;
extern const struct sampler sampler_loadavg;
extern const struct sampler sampler_meminfo;
extern const struct sampler sampler_stat;
extern const struct sampler sampler_vmstat;
extern const struct sampler sampler_interrupts;
extern const struct sampler sampler_diskstats;
extern const struct sampler sampler_netdev;
extern const struct sampler sampler_pressure;
extern const struct sampler sampler_schedstat;
extern const struct sampler sampler_numa;
extern const struct sampler sampler_edac;
extern const struct sampler sampler_nfs;
extern const struct sampler sampler_self;
extern const struct sampler sampler_rapl;
extern const struct sampler sampler_temperature;
extern const struct sampler sampler_gpu;
extern const struct sampler sampler_ipmi;
extern const struct sampler sampler_infiniband;
extern const struct sampler sampler_lustre;
extern const struct sampler sampler_taskstats;
extern const struct sampler sampler_jobs;
extern const struct sampler sampler_cgroup;
extern const struct sampler sampler_process;
extern const struct sampler sampler_perf;
extern const struct sampler sampler_syscalls;

#endif
