/* The samplers of this build: one line each. */
#include "sample/all.h"

const struct sampler *const sampler_all[] = {
    &sampler_tree,
    &sampler_loadavg,
    &sampler_meminfo,
    &sampler_stat,
    &sampler_rapl,
    &sampler_temperature,
    NULL,
};

const struct sampler *const sampler_run[] = {
    &sampler_tree,
    &sampler_loadavg,
    &sampler_meminfo,
    &sampler_stat,
    NULL,
};
