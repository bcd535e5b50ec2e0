/* dlopen of libnvidia-ml.so.1. The declarations are our own: NVIDIA's header is not free, and these calls have been
 * stable since 2012, with a version suffix where they changed. */
#include "samplers/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum nvml_answer { /* nvmlReturn_t */
    ANSWER_SUCCESS = 0, ANSWER_UNINITIALIZED = 1, ANSWER_INVALID_ARGUMENT = 2, ANSWER_NOT_SUPPORTED = 3,
    ANSWER_NO_PERMISSION = 4, ANSWER_NOT_FOUND = 6, ANSWER_INSUFFICIENT_SIZE = 7, ANSWER_DRIVER_NOT_LOADED = 9,
    ANSWER_LIBRARY_NOT_FOUND = 12, ANSWER_FUNCTION_NOT_FOUND = 13, ANSWER_GPU_IS_LOST = 15
};

struct utilization_rates {
    unsigned gpu, memory;
};

struct memory_info {
    unsigned long long total, free, used;
};

struct process_info_1 {
    unsigned pid;
    unsigned long long memory;
};

struct process_info { /* of the _v2 and _v3 calls */
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

#define SENSOR_GPU 0
#define CLOCK_SM 1
#define CLOCK_MEMORY 2
#define MEMORY_UNKNOWN UINT64_MAX

/* X(name, symbol names from new to old, parameters) */
#define CALLS(X) \
    X(init, "nvmlInit_v2\0nvmlInit\0", (void)) \
    X(shutdown, "nvmlShutdown\0", (void)) \
    X(get_count, "nvmlDeviceGetCount_v2\0nvmlDeviceGetCount\0", (unsigned *count)) \
    X(get_handle, "nvmlDeviceGetHandleByIndex_v2\0nvmlDeviceGetHandleByIndex\0", (unsigned index, nvml_device *device)) \
    X(get_uuid, "nvmlDeviceGetUUID\0", (nvml_device device, char *uuid, unsigned size)) \
    X(get_minor, "nvmlDeviceGetMinorNumber\0", (nvml_device device, unsigned *minor)) \
    X(get_utilization, "nvmlDeviceGetUtilizationRates\0", (nvml_device device, struct utilization_rates *rates)) \
    X(get_memory, "nvmlDeviceGetMemoryInfo\0", (nvml_device device, struct memory_info *memory)) \
    X(get_power, "nvmlDeviceGetPowerUsage\0", (nvml_device device, unsigned *milliwatts)) \
    X(get_power_limit, "nvmlDeviceGetEnforcedPowerLimit\0", (nvml_device device, unsigned *milliwatts)) \
    X(get_temperature, "nvmlDeviceGetTemperature\0", (nvml_device device, int sensor, unsigned *celsius)) \
    X(get_energy, "nvmlDeviceGetTotalEnergyConsumption\0", (nvml_device device, unsigned long long *millijoules)) \
    X(get_clock, "nvmlDeviceGetClockInfo\0", (nvml_device device, int clock, unsigned *megahertz)) \
    X(get_compute, "nvmlDeviceGetComputeRunningProcesses_v3\0nvmlDeviceGetComputeRunningProcesses_v2\0", \
      (nvml_device device, unsigned *count, void *processes)) \
    X(get_graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3\0nvmlDeviceGetGraphicsRunningProcesses_v2\0", \
      (nvml_device device, unsigned *count, void *processes)) \
    X(get_compute_1, "nvmlDeviceGetComputeRunningProcesses\0", (nvml_device device, unsigned *count, void *processes)) \
    X(get_graphics_1, "nvmlDeviceGetGraphicsRunningProcesses\0", (nvml_device device, unsigned *count, void *processes))

struct nvml {
    void *library;
    unsigned count;
#define X(name, names, arguments) int (*name) arguments; /* NULL: not in this driver */
    CALLS(X)
#undef X
};

static void *find_call(void *library, const char *names)
{
    void *call = NULL;
    for (; !call && *names; names += strlen(names) + 1)
        call = dlsym(library, names);
    return call;
}

static void find_calls(struct nvml *nvml)
{
    /* via memcpy: ISO C has no cast from an object pointer to a function pointer */
#define X(name, names, arguments) \
    { \
        void *call = find_call(nvml->library, names); \
        memcpy(&nvml->name, &call, sizeof call); \
    }
    CALLS(X)
#undef X
}

static enum err err_of(int answer)
{
    switch (answer) {
    case ANSWER_SUCCESS: return OK;
    case ANSWER_NO_PERMISSION: return DENIED;
    case ANSWER_NOT_SUPPORTED:
    case ANSWER_NOT_FOUND:
    case ANSWER_DRIVER_NOT_LOADED:
    case ANSWER_LIBRARY_NOT_FOUND:
    case ANSWER_FUNCTION_NOT_FOUND: return ABSENT;
    case ANSWER_INSUFFICIENT_SIZE: return FULL;
    case ANSWER_GPU_IS_LOST: return GONE;
    default: return IO;
    }
}

static enum err start(struct nvml *nvml)
{
    if (!nvml->init || !nvml->shutdown || !nvml->get_count || !nvml->get_handle)
        return ABSENT;
    enum err err = err_of(nvml->init());
    if (err)
        return err;
    err = err_of(nvml->get_count(&nvml->count));
    if (!err && nvml->count)
        return OK;
    nvml->shutdown();
    return err ? err : ABSENT;
}

enum err nvml_open(struct nvml **opened, const char *library)
{
    struct nvml *nvml = *opened = calloc(1, sizeof *nvml);
    if (!nvml)
        return NOMEM;
    nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    enum err err = ABSENT;
    if (nvml->library) {
        find_calls(nvml);
        err = start(nvml);
    }
    if (!err)
        return OK;
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
    *opened = NULL;
    return err;
}

void nvml_close(struct nvml **opened)
{
    if (!*opened)
        return;
    (*opened)->shutdown();
    dlclose((*opened)->library);
    free(*opened);
    *opened = NULL;
}

unsigned nvml_count(const struct nvml *nvml)
{
    return nvml->count;
}

enum err nvml_device_at(const struct nvml *nvml, unsigned index, nvml_device *device)
{
    return err_of(nvml->get_handle(index, device));
}

enum err nvml_uuid(const struct nvml *nvml, nvml_device device, char uuid[NVML_UUID_MAX])
{
    return nvml->get_uuid ? err_of(nvml->get_uuid(device, uuid, NVML_UUID_MAX)) : ABSENT;
}

enum err nvml_minor(const struct nvml *nvml, nvml_device device, unsigned *minor)
{
    return nvml->get_minor ? err_of(nvml->get_minor(device, minor)) : ABSENT;
}

enum err nvml_utilization(const struct nvml *nvml, nvml_device device, unsigned *percent, unsigned *memory_percent)
{
    struct utilization_rates rates;
    enum err err = nvml->get_utilization ? err_of(nvml->get_utilization(device, &rates)) : ABSENT;
    if (err)
        return err;
    *percent = rates.gpu;
    *memory_percent = rates.memory;
    return OK;
}

enum err nvml_memory(const struct nvml *nvml, nvml_device device, struct nvml_memory *memory)
{
    struct memory_info info;
    enum err err = nvml->get_memory ? err_of(nvml->get_memory(device, &info)) : ABSENT;
    if (!err)
        *memory = (struct nvml_memory){ info.total, info.free, info.used };
    return err;
}

enum err nvml_power(const struct nvml *nvml, nvml_device device, unsigned *milliwatts)
{
    return nvml->get_power ? err_of(nvml->get_power(device, milliwatts)) : ABSENT;
}

enum err nvml_power_limit(const struct nvml *nvml, nvml_device device, unsigned *milliwatts)
{
    return nvml->get_power_limit ? err_of(nvml->get_power_limit(device, milliwatts)) : ABSENT;
}

enum err nvml_temperature(const struct nvml *nvml, nvml_device device, unsigned *celsius)
{
    return nvml->get_temperature ? err_of(nvml->get_temperature(device, SENSOR_GPU, celsius)) : ABSENT;
}

enum err nvml_energy(const struct nvml *nvml, nvml_device device, uint64_t *millijoules)
{
    unsigned long long value;
    enum err err = nvml->get_energy ? err_of(nvml->get_energy(device, &value)) : ABSENT;
    if (!err)
        *millijoules = value;
    return err;
}

enum err nvml_clock(const struct nvml *nvml, nvml_device device, bool memory, unsigned *megahertz)
{
    return nvml->get_clock ? err_of(nvml->get_clock(device, memory ? CLOCK_MEMORY : CLOCK_SM, megahertz)) : ABSENT;
}

static void add_process(uint32_t pid, uint64_t memory, struct nvml_process *processes, size_t capacity, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (processes[i].pid == pid) /* a compute and graphics process: do not count its memory twice */
            return;
    if (*count < capacity)
        processes[(*count)++] = (struct nvml_process){ pid, memory != MEMORY_UNKNOWN, memory };
}

/* call: the layout of 2020 and later; call_1: the one before. */
static enum err add_processes(int (*call)(nvml_device, unsigned *, void *),
                              int (*call_1)(nvml_device, unsigned *, void *),
                              nvml_device device, struct nvml_process *processes, size_t capacity, size_t *count)
{
    struct process_info infos[NVML_PROCESSES_MAX];
    const struct process_info_1 *infos_1 = (const void *)infos;
    unsigned got = NVML_PROCESSES_MAX;
    if (!call && !call_1)
        return ABSENT;
    enum err err = err_of(call ? call(device, &got, infos) : call_1(device, &got, infos));
    if (err)
        return err;
    for (unsigned i = 0; i < got && i < NVML_PROCESSES_MAX; i++)
        if (call)
            add_process(infos[i].pid, infos[i].memory, processes, capacity, count);
        else
            add_process(infos_1[i].pid, infos_1[i].memory, processes, capacity, count);
    return OK;
}

enum err nvml_processes(const struct nvml *nvml, nvml_device device, struct nvml_process *processes, size_t capacity,
                        size_t *count)
{
    *count = 0;
    enum err err = add_processes(nvml->get_compute, nvml->get_compute_1, device, processes, capacity, count);
    enum err graphics = add_processes(nvml->get_graphics, nvml->get_graphics_1, device, processes, capacity, count);
    return err == OK || graphics == OK ? OK : err;
}
