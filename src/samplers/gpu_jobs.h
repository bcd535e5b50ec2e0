/* How the jobs of the node use its GPUs: which cards are allocated to them, which they use, and for how long an
 * allocated card had no process of the job. Becomes the metric set "gpu_job", one sample per job and card. */
#ifndef SONDE_SAMPLERS_GPU_JOBS_H
#define SONDE_SAMPLERS_GPU_JOBS_H

#include "model/batch.h"
#include "samplers/gpu_allocation.h"
#include "samplers/nvml.h"

#define GPU_PROCESSES_MAX 128

/* The latest reading of one card. */
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
    struct gpu_job *jobs;  /* running jobs */
    struct gpu_job *ended; /* ended jobs, whose id a batch may still borrow */
};

/* All arguments are borrowed until gpu_jobs_close. */
void gpu_jobs_open(struct gpu_jobs *jobs, const char *root, const struct gpu_card *cards,
                   const struct gpu_names *names);
void gpu_jobs_close(struct gpu_jobs *jobs);

/* Handles a job event. The energy of the cards must have been read just before. At JOB_BEGIN and JOB_END samples are
 * added to out, unless it is NULL. */
enum err gpu_jobs_event(struct gpu_jobs *jobs, const struct job *job, enum job_event event, uint64_t now_ns,
                        struct batch *out);

/* Call after all cards were read. */
enum err gpu_jobs_update(struct gpu_jobs *jobs, uint64_t now_ns, struct batch *out);

#endif
