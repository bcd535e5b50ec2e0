/* NVIDIA GPUs, one sample per card, read through NVML (nvml.h), which is loaded when the agent starts. Slow: a call on
 * a busy card may take tens of milliseconds. gpu_jobs.c attributes the cards to jobs. */
#include "samplers/all.h"

#include "base/clock.h"
#include "samplers/gpu_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct metric metrics[] = {
    { "utilization", "%", GAUGE, U64, "share of time that kernels ran on the card, over the last second or less" },
    { "memory_utilization", "%", GAUGE, U64, "share of time that its memory was read or written" },
    { "memory_total", "B", GAUGE, U64, "memory of the card" },
    { "memory_used", "B", GAUGE, U64, "memory in use" },
    { "memory_free", "B", GAUGE, U64, "free memory" },
    { "power", "W", GAUGE, F64, "power draw of the card" },
    { "power_limit", "W", GAUGE, F64, "power limit of the card" },
    { "temperature", "C", GAUGE, F64, "temperature of the chip" },
    { "energy", "uJ", COUNTER, U64, "energy since the driver was loaded" },
    { "clock", "Hz", GAUGE, U64, "clock of its processors" },
    { "memory_clock", "Hz", GAUGE, U64, "clock of its memory" },
    { "processes", "1", GAUGE, U64, "processes on the card" },
};

enum {
    UTILIZATION, MEMORY_UTILIZATION, MEMORY_TOTAL, MEMORY_USED, MEMORY_FREE, POWER, POWER_LIMIT, TEMPERATURE, ENERGY,
    CLOCK, MEMORY_CLOCK, PROCESSES, METRICS
};

static const struct set set = { "gpu", metrics, METRICS, "gpu" };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

struct gpu {
    const char *library;
    struct nvml *nvml;
    struct gpu_names names;
    struct gpu_card *cards;
    struct gpu_jobs jobs;
};

static const struct setting settings[] = {
    { "library", SETTING_TEXT, NVML_LIBRARY, offsetof(struct gpu,
                                                      library), "path of NVML, if it is not where the loader finds it" },
    { .key = NULL },
};

static void find_card(struct gpu *gpu, unsigned index)
{
    unsigned at = gpu->names.count;
    struct gpu_card *card = &gpu->cards[at];
    if (nvml_device_at(gpu->nvml, index, &card->device)) /* the card fell off the bus */
        return;
    snprintf(card->instance, sizeof card->instance, "gpu%u", index);
    if (nvml_minor(gpu->nvml, card->device, &gpu->names.minor[at]))
        gpu->names.minor[at] = index;
    if (nvml_uuid(gpu->nvml, card->device, gpu->names.uuid[at]))
        gpu->names.uuid[at][0] = '\0';
    gpu->names.count++;
}

static void gpu_close(void *state)
{
    struct gpu *gpu = state;
    gpu_jobs_close(&gpu->jobs);
    free(gpu->cards);
    nvml_close(&gpu->nvml);
}

static enum err gpu_open(void *state, const struct sampler_context *context)
{
    struct gpu *gpu = state;
    if (*context->root && !strcmp(gpu->library, NVML_LIBRARY))
        return ABSENT; /* a captured tree has no GPU to query */
    enum err err = nvml_open(&gpu->nvml, gpu->library);
    if (err)
        return err;
    unsigned count = nvml_count(gpu->nvml) < GPU_MAX ? nvml_count(gpu->nvml) : GPU_MAX;
    gpu->cards = calloc(count, sizeof *gpu->cards);
    for (unsigned i = 0; gpu->cards && i < count; i++)
        find_card(gpu, i);
    gpu_jobs_open(&gpu->jobs, context->root, gpu->cards, &gpu->names);
    if (gpu->cards && gpu->names.count)
        return OK;
    err = gpu->cards ? IO : NOMEM;
    gpu_close(gpu);
    return err;
}

static void read_energy(struct gpu *gpu)
{
    for (unsigned i = 0; i < gpu->names.count; i++) {
        struct gpu_card *card = &gpu->cards[i];
        card->has_energy = nvml_energy(gpu->nvml, card->device, &card->energy_mj) == OK;
    }
}

static void read_load(struct gpu *gpu, struct gpu_card *card, struct sample *sample)
{
    unsigned memory_percent;
    card->has_percent = nvml_utilization(gpu->nvml, card->device, &card->percent, &memory_percent) == OK;
    card->has_power = nvml_power(gpu->nvml, card->device, &card->power_mw) == OK;
    card->has_processes = nvml_processes(gpu->nvml, card->device, card->processes, GPU_PROCESSES_MAX,
                                         &card->process_count) == OK;
    if (!card->has_processes)
        card->process_count = 0;
    if (card->has_percent) {
        sample_set_u64(sample, UTILIZATION, card->percent);
        sample_set_u64(sample, MEMORY_UTILIZATION, memory_percent);
    }
    if (card->has_power)
        sample_set_f64(sample, POWER, card->power_mw / 1000.0);
    if (card->has_processes)
        sample_set_u64(sample, PROCESSES, card->process_count);
    if (card->has_energy)
        sample_set_u64(sample, ENERGY, card->energy_mj * 1000);
}

static void read_levels(const struct gpu *gpu, const struct gpu_card *card, struct sample *sample)
{
    struct nvml_memory memory;
    unsigned value;
    if (nvml_memory(gpu->nvml, card->device, &memory) == OK) {
        sample_set_u64(sample, MEMORY_TOTAL, memory.total);
        sample_set_u64(sample, MEMORY_USED, memory.used);
        sample_set_u64(sample, MEMORY_FREE, memory.free);
    }
    if (nvml_power_limit(gpu->nvml, card->device, &value) == OK)
        sample_set_f64(sample, POWER_LIMIT, value / 1000.0);
    if (nvml_temperature(gpu->nvml, card->device, &value) == OK)
        sample_set_f64(sample, TEMPERATURE, value);
    if (nvml_clock(gpu->nvml, card->device, false, &value) == OK)
        sample_set_u64(sample, CLOCK, value * UINT64_C(1000000));
    if (nvml_clock(gpu->nvml, card->device, true, &value) == OK)
        sample_set_u64(sample, MEMORY_CLOCK, value * UINT64_C(1000000));
}

static size_t count_known(const struct sample *sample)
{
    size_t count = 0;
    for (size_t i = 0; i < METRICS; i++)
        count += sample->known[i];
    return count;
}

static enum err gpu_read(void *state, struct batch *out)
{
    struct gpu *gpu = state;
    size_t known = 0;
    read_energy(gpu);
    for (unsigned i = 0; i < gpu->names.count; i++) {
        struct sample *sample = batch_add(out, &set, clock_realtime_ns(), gpu->cards[i].instance);
        if (!sample)
            return NOMEM;
        read_load(gpu, &gpu->cards[i], sample);
        read_levels(gpu, &gpu->cards[i], sample);
        known += count_known(sample);
    }
    if (!known) /* the driver was unloaded or all cards are lost: close and retry */
        return IO;
    return gpu_jobs_update(&gpu->jobs, clock_monotonic_ns(), out);
}

static enum err gpu_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct gpu *gpu = state;
    if (event != JOB_CHANGE)
        read_energy(gpu);
    return gpu_jobs_event(&gpu->jobs, job, event, clock_monotonic_ns(), out);
}

const struct sampler sampler_gpu = {
    .name = "gpu",
    .about = "NVIDIA GPUs, and which jobs they are allocated to and used by",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct gpu),
    .is_slow = true,
    .absent_reason = "NVML is not installed (" NVML_LIBRARY "), or there is no NVIDIA GPU with its driver loaded",
    .absent_fix = "If there is a GPU, install the NVIDIA driver with its tools and check that nvidia-smi works",
    .denied_fix = "Run the agent as root, or check the permissions of /dev/nvidia*",
    .open = gpu_open,
    .read = gpu_read,
    .job = gpu_job,
    .close = gpu_close,
};
