/* Which GPUs a job was given, whether it uses them or not: by the devices that its cgroup allows (v1), or by what the batch
 * system put into the environment of its processes. */
#ifndef SONDE_SAMPLERS_GPU_ALLOCATION_H
#define SONDE_SAMPLERS_GPU_ALLOCATION_H

#include "base/buf.h"
#include "model/job.h"

#define GPU_MAX 32

/* How the cards of this node are called. */
struct gpu_names {
    unsigned count;
    unsigned minor[GPU_MAX];
    char uuid[GPU_MAX][96]; /* "": not known */
};

/* One bit for each card, by its place in names. ABSENT: nothing tells; AGAIN: the job has no process yet. */
enum err gpu_allocation_find(const char *root, const struct job *job, const struct gpu_names *names,
                             uint32_t *allocated);

/* The parsers: a list of devices of cgroup v1 ("c 195:0 rwm"), ABSENT where all are allowed; an environment with a NUL
 * after each variable; a list such as "0,2", "0-3", "GPU-8f2e…". They take any text. */
enum err gpu_allocation_parse_devices(const char *text, const struct gpu_names *names, uint32_t *allocated);
enum err gpu_allocation_parse_environment(struct bytes environment, const struct gpu_names *names, uint32_t *allocated);
enum err gpu_allocation_parse_list(const char *text, const struct gpu_names *names, uint32_t *allocated);

#endif
