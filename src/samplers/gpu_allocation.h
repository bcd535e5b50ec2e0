/* Which GPUs are allocated to a job, whether it uses them or not: from the devices that its cgroup allows (v1), else
 * from the variables that the batch system sets in the environment of its processes. */
#ifndef SONDE_SAMPLERS_GPU_ALLOCATION_H
#define SONDE_SAMPLERS_GPU_ALLOCATION_H

#include "base/buf.h"
#include "model/job.h"

#define GPU_MAX 32

/* The identifiers of the cards of this node. */
struct gpu_names {
    unsigned count;
    unsigned minor[GPU_MAX];
    char uuid[GPU_MAX][96]; /* "": unknown */
};

/* Sets one bit per card, by its index in names. ABSENT: unknown; AGAIN: the job has no process yet. */
enum err gpu_allocation_find(const char *root, const struct job *job, const struct gpu_names *names,
                             uint32_t *allocated);

/* The parsers of: devices.list of cgroup v1 ("c 195:0 rwm"; ABSENT where all devices are allowed); an environment, NUL
 * after each variable; a list such as "0,2", "0-3", "GPU-8f2e…". They accept any input. */
enum err gpu_allocation_parse_devices(const char *text, const struct gpu_names *names, uint32_t *allocated);
enum err gpu_allocation_parse_environment(struct bytes environment, const struct gpu_names *names, uint32_t *allocated);
enum err gpu_allocation_parse_list(const char *text, const struct gpu_names *names, uint32_t *allocated);

#endif
