/* What the jobs of the node do with its GPUs: which they were given, which they use, and for how long they held one without
 * a process on it. Becomes samples of the set "gpu_job", one per job and card. */
#ifndef SONDE_SAMPLERS_GPU_JOBS_H
#define SONDE_SAMPLERS_GPU_JOBS_H

#include "model/batch.h"
#include "samplers/gpu_allocation.h"
#include "samplers/nvml.h"

#define GPU_PROCESSES_MAX 128

/* One card as it was read just now. */
struct gpu_card {
    nvml_device device;
    char instance[16]; /* "gpu0" */
    bool has_percent, has_power, has_energy, has_processes;
    unsigned percent, power_mw;
    uint64_t energy_mj;
    struct nvml_process processes[GPU_PROCESSES_MAX];
    size_t process_count;
};

struct gpu_job;

/* Zeroed at first. */
struct gpu_jobs {
    const char *root;
    const struct gpu_card *cards; /* names.count of them */
    const struct gpu_names *names;
    struct gpu_job *jobs;  /* those that run */
    struct gpu_job *ended; /* whose ids may be in a batch still */
};

/* Everything is borrowed until gpu_jobs_close. */
void gpu_jobs_open(struct gpu_jobs *jobs, const char *root, const struct gpu_card *cards,
                   const struct gpu_names *names);
void gpu_jobs_close(struct gpu_jobs *jobs);

/* Hears of a job; the energy of the cards was read just now. At its beginning and its end samples are added to out, unless
 * that is NULL. */
enum err gpu_jobs_event(struct gpu_jobs *jobs, const struct job *job, enum job_event event, uint64_t now_ns,
                        struct batch *out);

/* After all cards were read. */
enum err gpu_jobs_update(struct gpu_jobs *jobs, uint64_t now_ns, struct batch *out);

#endif
