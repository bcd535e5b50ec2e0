/* Stands in for libnvidia-ml.so.1, which is to be had only with its hardware: the calls that Sonde makes, with the names and
 * layouts of NVIDIA's documentation. FAKE_OLD: as a driver of before 2020, without the calls that end in _v2 and _v3. */
#include "tools/fake_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
#define INSUFFICIENT_SIZE 7

extern struct fake_nvml fake_nvml;
API struct fake_nvml fake_nvml;

struct rates {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct process_1 {
    unsigned pid;
    unsigned long long memory;
};
struct process_3 {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* For a whole agent, which cannot be told by the symbol: $FAKE_GPUS cards, $FAKE_GPU_PID on the first. */
static void take_environment(void)
{
    const char *count = getenv("FAKE_GPUS"), *pid = getenv("FAKE_GPU_PID");
    fake_nvml.count = (unsigned)strtoul(count, NULL, 10) % (FAKE_GPUS + 1);
    for (unsigned i = 0; i < fake_nvml.count; i++)
        fake_nvml.gpus[i] = (struct fake_gpu){ .minor = i, .percent = 50 + i, .milliwatts = 250000, .celsius = 60,
                                               .total = 80ull << 30, .used = 1ull << 30, .millijoules = 123456 };
    if (pid && fake_nvml.count) {
        fake_nvml.gpus[0].process_count = 1;
        fake_nvml.gpus[0].pids[0] = (unsigned)strtoul(pid, NULL, 10);
        fake_nvml.gpus[0].memory[0] = 1ull << 30;
    }
}

API int nvmlInit_v2(void)
{
    if (getenv("FAKE_GPUS"))
        take_environment();
    fake_nvml.inits += fake_nvml.init_answer == 0;
    return fake_nvml.init_answer;
}

API int nvmlShutdown(void)
{
    fake_nvml.shutdowns++;
    return 0;
}

API int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = fake_nvml.count;
    return 0;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &fake_nvml.gpus[index];
    return fake_nvml.gpus[index].answer;
}

API int nvmlDeviceGetUUID(const struct fake_gpu *gpu, char *uuid, unsigned size)
{
    snprintf(uuid, size, "%s", gpu->uuid);
    return gpu->answer;
}

API int nvmlDeviceGetMinorNumber(const struct fake_gpu *gpu, unsigned *minor)
{
    *minor = gpu->minor;
    return gpu->answer;
}

API int nvmlDeviceGetUtilizationRates(const struct fake_gpu *gpu, struct rates *rates)
{
    *rates = (struct rates){ gpu->percent, gpu->memory_percent };
    return gpu->answer;
}

API int nvmlDeviceGetMemoryInfo(const struct fake_gpu *gpu, struct memory *memory)
{
    *memory = (struct memory){ gpu->total, gpu->total - gpu->used, gpu->used };
    return gpu->answer;
}

API int nvmlDeviceGetPowerUsage(const struct fake_gpu *gpu, unsigned *milliwatts)
{
    *milliwatts = gpu->milliwatts;
    return gpu->answer;
}

API int nvmlDeviceGetTemperature(const struct fake_gpu *gpu, int sensor, unsigned *celsius)
{
    *celsius = gpu->celsius;
    return sensor ? NOT_SUPPORTED : gpu->answer;
}

API int nvmlDeviceGetClockInfo(const struct fake_gpu *gpu, int clock, unsigned *megahertz)
{
    *megahertz = gpu->megahertz * (clock == 2 ? 2 : 1);
    return gpu->answer;
}

#ifdef FAKE_OLD
API int nvmlDeviceGetComputeRunningProcesses(const struct fake_gpu *gpu, unsigned *count, struct process_1 *processes)
{
    if (*count < gpu->process_count)
        return INSUFFICIENT_SIZE;
    *count = gpu->process_count;
    for (unsigned i = 0; i < gpu->process_count; i++)
        processes[i] = (struct process_1){ gpu->pids[i], gpu->memory[i] };
    return gpu->answer;
}
#else
API int nvmlDeviceGetTotalEnergyConsumption(const struct fake_gpu *gpu, unsigned long long *millijoules)
{
    *millijoules = gpu->millijoules;
    return gpu->answer;
}

API int nvmlDeviceGetEnforcedPowerLimit(const struct fake_gpu *gpu, unsigned *milliwatts)
{
    *milliwatts = 400000;
    return gpu->answer;
}

API int nvmlDeviceGetComputeRunningProcesses_v3(const struct fake_gpu *gpu, unsigned *count, struct process_3 *processes)
{
    if (*count < gpu->process_count)
        return INSUFFICIENT_SIZE;
    *count = gpu->process_count;
    for (unsigned i = 0; i < gpu->process_count; i++)
        processes[i] = (struct process_3){ gpu->pids[i], gpu->memory[i], ~0u, ~0u };
    return gpu->answer;
}

/* The first process draws, too. */
API int nvmlDeviceGetGraphicsRunningProcesses_v3(const struct fake_gpu *gpu, unsigned *count, struct process_3 *processes)
{
    *count = gpu->process_count ? 1 : 0;
    if (*count)
        processes[0] = (struct process_3){ gpu->pids[0], gpu->memory[0], ~0u, ~0u };
    return gpu->answer;
}
#endif
