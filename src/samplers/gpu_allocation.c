/* Reads devices.list and /proc/PID/environ of jobs. For cgroup v2 the kernel does not show which devices are
 * allowed. */
#include "samplers/gpu_allocation.h"

#include "base/file.h"
#include "base/scan.h"
#include "jobs/cgroup.h"
#include "proc/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVIDIA_MAJOR 195
#define CONTROL_MINOR 254 /* from here on control devices: nvidia-modeset, nvidiactl */
#define DEPTH_MAX 5       /* cgroup levels below a job: step, user, task */
#define ENVIRONMENT_MAX (256 << 10)
#define TEXT_MAX (16 << 10)

/* Most reliable first. CUDA_VISIBLE_DEVICES counts within what the cgroup allows, so it comes late. */
static const char *const variables[] = {
    "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
};

#define VARIABLES (sizeof variables / sizeof *variables)

static uint32_t bit_of_minor(const struct gpu_names *names, uint64_t minor)
{
    for (unsigned i = 0; i < names->count; i++)
        if (names->minor[i] == minor)
            return UINT32_C(1) << i;
    return 0;
}

static uint32_t bit_of_uuid(const struct gpu_names *names, const char *uuid, size_t size)
{
    for (unsigned i = 0; size >= strlen("GPU-") + 4 && i < names->count; i++) /* CUDA accepts abbreviated UUIDs */
        if (!strncmp(names->uuid[i], uuid, size))
            return UINT32_C(1) << i;
    return 0;
}

enum err gpu_allocation_parse_devices(const char *text, const struct gpu_names *names, uint32_t *allocated)
{
    *allocated = 0;
    for (const char *line = text; line; line = scan_next_line(line)) {
        uint64_t major, minor;
        const char *at = line + 2;
        if (!strncmp(line, "a ", 2) || !strncmp(line, "c *:", 4) || !strncmp(line, "c 195:*", 7))
            return ABSENT; /* everything is allowed, so this says nothing about the allocation */
        if (strncmp(line, "c ", 2) != 0 || !scan_u64(&at, &major) || major != NVIDIA_MAJOR || *at++ != ':'
            || !scan_u64(&at, &minor) || minor >= CONTROL_MINOR)
            continue;
        *allocated |= bit_of_minor(names, minor);
    }
    return OK;
}

static bool parse_range(const char **at, const struct gpu_names *names, uint32_t *allocated)
{
    uint64_t first, last;
    if (!scan_u64(at, &first))
        return false;
    last = first;
    if (**at == '-') {
        ++*at;
        if (!scan_u64(at, &last) || last - first >= GPU_MAX)
            return false;
    }
    for (uint64_t i = 0; i <= last - first; i++) /* last may be UINT64_MAX */
        *allocated |= bit_of_minor(names, first + i);
    return true;
}

static bool is_word(const char *text, const char *word)
{
    return !strcmp(text, word);
}

enum err gpu_allocation_parse_list(const char *text, const struct gpu_names *names, uint32_t *allocated)
{
    *allocated = 0;
    if (!*text || is_word(text, "none") || is_word(text, "void") || is_word(text, "NoDevFiles") || is_word(text, "-1"))
        return OK;
    if (is_word(text, "all")) {
        *allocated = names->count < 32 ? (UINT32_C(1) << names->count) - 1 : UINT32_MAX;
        return OK;
    }
    for (const char *at = text; *at;) {
        size_t size = strcspn(at, ",");
        if (!strncmp(at, "GPU-", strlen("GPU-"))) {
            *allocated |= bit_of_uuid(names, at, size);
            at += size;
        } else if (!parse_range(&at, names, allocated)) {
            return CORRUPT;
        }
        if (*at && *at++ != ',')
            return CORRUPT;
    }
    return OK;
}

/* The value of the variable name, or NULL. */
static const char *value_of(const char *entry, const char *name)
{
    size_t size = strlen(name);
    return !strncmp(entry, name, size) && entry[size] == '=' ? entry + size + 1 : NULL;
}

enum err gpu_allocation_parse_environment(struct bytes environment, const struct gpu_names *names, uint32_t *allocated)
{
    const char *values[VARIABLES] = { NULL };
    for (size_t at = 0; at < environment.size;) {
        const char *entry = environment.data + at, *end = memchr(entry, '\0', environment.size - at);
        if (!end)
            break; /* truncated */
        for (size_t i = 0; i < VARIABLES; i++)
            values[i] = values[i] ? values[i] : value_of(entry, variables[i]);
        at += (size_t)(end - entry) + 1;
    }
    for (size_t i = 0; i < VARIABLES; i++)
        if (values[i] && gpu_allocation_parse_list(values[i], names, allocated) == OK)
            return OK;
    return ABSENT;
}

static enum err read_devices(const char *root, const char *mountinfo, const struct job *job,
                             const struct gpu_names *names,
                             uint32_t *allocated)
{
    char mount[CGROUP_PATH_MAX], top[CGROUP_PATH_MAX], path[2 * CGROUP_PATH_MAX + 32], text[TEXT_MAX];
    if (job->unified || !*job->cgroup || cgroup_parse_mount(mountinfo, "devices", mount, top))
        return ABSENT;
    snprintf(path, sizeof path, "%s%s/devices.list", mount, job->cgroup);
    if (file_read(root, path, text, sizeof text, NULL))
        return ABSENT;
    return gpu_allocation_parse_devices(text, names, allocated);
}

static bool join(char path[2 * CGROUP_PATH_MAX], const char *group, const char *name)
{
    int size = snprintf(path, 2 * CGROUP_PATH_MAX, "%s/%s", group, name);
    return size > 0 && size < 2 * CGROUP_PATH_MAX;
}

/* Finds a process of the cgroup or of one below it. */
static enum err find_process(const char *root, const char *group, int depth, uint64_t *pid)
{
    char path[2 * CGROUP_PATH_MAX], text[64];
    const char *at = text;
    struct listing below = { 0 };
    if (join(path, group, "cgroup.procs") && file_read(root, path, text, sizeof text, NULL) == OK && scan_u64(&at, pid))
        return OK;
    if (depth == 0 || listing_read(&below, root, group, ""))
        return AGAIN;
    enum err err = AGAIN;
    for (size_t i = 0; err && i < below.count; i++) {
        if (strchr(below.names[i], '.') && !strstr(below.names[i], ".scope") && !strstr(below.names[i], ".slice"))
            continue; /* a file such as "cpu.stat", not a cgroup */
        if (join(path, group, below.names[i]))
            err = find_process(root, path, depth - 1, pid);
    }
    listing_clear(&below);
    return err;
}

static enum err find_process_of_job(const char *root, const char *mountinfo, const struct job *job, uint64_t *pid)
{
    char mount[CGROUP_PATH_MAX], top[CGROUP_PATH_MAX], group[2 * CGROUP_PATH_MAX];
    static const char *const controllers[] = { "freezer", "cpuset", "cpu", "memory" };
    *pid = job->pid;
    if (*pid)
        return OK;
    if (!*job->cgroup)
        return ABSENT;
    for (size_t i = 0; i < (job->unified ? 1 : sizeof controllers / sizeof *controllers); i++) {
        if (cgroup_parse_mount(mountinfo, job->unified ? NULL : controllers[i], mount, top))
            continue;
        snprintf(group, sizeof group, "%.2000s%.2000s", mount, job->cgroup);
        if (find_process(root, group, DEPTH_MAX, pid) == OK)
            return OK;
    }
    return AGAIN;
}

static enum err read_environment(const char *root, uint64_t pid, const struct gpu_names *names, uint32_t *allocated)
{
    char path[64], *text = malloc(ENVIRONMENT_MAX);
    size_t size;
    if (!text)
        return NOMEM;
    snprintf(path, sizeof path, "/proc/%llu/environ", (unsigned long long)pid);
    enum err err = file_read(root, path, text, ENVIRONMENT_MAX, &size);
    if (!err)
        err = gpu_allocation_parse_environment((struct bytes){ text, size }, names, allocated);
    free(text);
    return err;
}

enum err gpu_allocation_find(const char *root, const struct job *job, const struct gpu_names *names,
                             uint32_t *allocated)
{
    char *mountinfo = malloc(TEXT_MAX * 4);
    uint64_t pid;
    if (!mountinfo)
        return NOMEM;
    if (file_read(root, "/proc/self/mountinfo", mountinfo, TEXT_MAX * 4, NULL))
        *mountinfo = '\0';
    enum err err = read_devices(root, mountinfo, job, names, allocated);
    if (err)
        err = find_process_of_job(root, mountinfo, job, &pid);
    else
        pid = 0;
    if (!err && pid)
        err = read_environment(root, pid, names, allocated);
    free(mountinfo);
    return err;
}
