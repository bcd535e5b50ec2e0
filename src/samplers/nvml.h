/* NVML, NVIDIA's management library, loaded at run time because it comes with the driver. Each call returns OK or says
 * why the value is unavailable; a lost card does not affect the others. */
#ifndef SONDE_SAMPLERS_NVML_H
#define SONDE_SAMPLERS_NVML_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_UUID_MAX 96
#define NVML_PROCESSES_MAX 256 /* per card */

struct nvml;
typedef void *nvml_device; /* an opaque handle, as in NVIDIA's header */

/* library: NVML_LIBRARY, or a path. ABSENT: no such library, or no driver; DENIED. */
enum err nvml_open(struct nvml **nvml, const char *library);
void nvml_close(struct nvml **nvml);

unsigned nvml_count(const struct nvml *nvml);
enum err nvml_device_at(const struct nvml *nvml, unsigned index, nvml_device *device);
enum err nvml_uuid(const struct nvml *nvml, nvml_device device, char uuid[NVML_UUID_MAX]); /* "GPU-…" */
enum err nvml_minor(const struct nvml *nvml, nvml_device device, unsigned *minor);         /* N of /dev/nvidiaN */

struct nvml_memory {
    uint64_t total, free, used; /* B */
};

enum err nvml_utilization(const struct nvml *nvml, nvml_device device, unsigned *percent, unsigned *memory_percent);
enum err nvml_memory(const struct nvml *nvml, nvml_device device, struct nvml_memory *memory);
enum err nvml_power(const struct nvml *nvml, nvml_device device, unsigned *milliwatts);
enum err nvml_power_limit(const struct nvml *nvml, nvml_device device, unsigned *milliwatts);
enum err nvml_temperature(const struct nvml *nvml, nvml_device device, unsigned *celsius);
enum err nvml_energy(const struct nvml *nvml, nvml_device device, uint64_t *millijoules); /* since the driver was loaded */
enum err nvml_clock(const struct nvml *nvml, nvml_device device, bool memory, unsigned *megahertz);

struct nvml_process {
    uint32_t pid;
    bool has_memory;
    uint64_t memory_bytes;
};

/* Compute and graphics processes, each pid once. FULL: there are more than capacity; the rest is left out. */
enum err nvml_processes(const struct nvml *nvml, nvml_device device, struct nvml_process *processes, size_t capacity,
                        size_t *count);

#endif
