/* Reads limits where the kernel enforces them. A batch system that allocates 4 of 64 cores does so by affinity (cpuset)
 * or by quota; both are found here. */
#include "jobs/limits.h"

#include "base/file.h"
#include "base/scan.h"
#include "jobs/cgroup.h"
#include "proc/cpulist.h"

#include <string.h>

/* v1 writes "no limit" as the largest page-aligned number. */
#define MEMORY_UNLIMITED (1ull << 62)

static void take_smaller(uint64_t *limit, uint64_t value)
{
    if (value && (!*limit || value < *limit))
        *limit = value;
}

/* The mask of an unbound task includes CPUs that could be added later: only those online count. */
static uint64_t read_affinity(const char *root)
{
    char status[8192], online[4096];
    if (file_read(root, "/proc/self/status", status, sizeof status, NULL))
        return 0;
    const char *list = scan_line(status, "Cpus_allowed_list:");
    if (!list || file_read_line(root, "/sys/devices/system/cpu/online", online, sizeof online))
        return 0;
    return cpulist_count(list + strspn(list, " \t"), online);
}

static uint64_t quota_of(uint64_t quota_us, uint64_t period_us)
{
    return period_us && quota_us < UINT64_MAX / 1000 ? (quota_us * 1000 + period_us / 2) / period_us : 0;
}

/* cpu.max: "50000 100000" or "max 100000". */
static uint64_t quota_unified(const char *root, const struct cgroup *cgroup)
{
    char text[64];
    const char *at = text;
    uint64_t quota_us, period_us;
    if (cgroup_read(root, cgroup, "cpu.max", text, sizeof text) || !scan_u64(&at, &quota_us)
        || !scan_u64(&at, &period_us))
        return 0;
    return quota_of(quota_us, period_us);
}

/* cpu.cfs_quota_us is -1 if there is none, which does not parse as a number. */
static uint64_t quota_legacy(const char *root, const struct cgroup *cgroup)
{
    char quota[64], period[64];
    const char *quota_at = quota, *period_at = period;
    uint64_t quota_us, period_us;
    if (cgroup_read(root, cgroup, "cpu.cfs_quota_us", quota, sizeof quota)
        || cgroup_read(root, cgroup, "cpu.cfs_period_us", period, sizeof period) || !scan_u64(&quota_at, &quota_us)
        || !scan_u64(&period_at, &period_us))
        return 0;
    return quota_of(quota_us, period_us);
}

static uint64_t memory_in(const char *root, const struct cgroup *cgroup, const char *file)
{
    char text[64];
    const char *at = text;
    uint64_t bytes;
    if (cgroup_read(root, cgroup, file, text, sizeof text) || !scan_u64(&at, &bytes))
        return 0;
    return bytes < MEMORY_UNLIMITED ? bytes : 0;
}

static void read_unified(const char *root, struct limits *limits)
{
    struct cgroup cgroup;
    if (cgroup_find(root, NULL, &cgroup))
        return;
    do {
        take_smaller(&limits->quota_milli, quota_unified(root, &cgroup));
        take_smaller(&limits->cgroup_memory_bytes, memory_in(root, &cgroup, "memory.max"));
    } while (cgroup_up(&cgroup));
}

static void read_legacy(const char *root, struct limits *limits)
{
    struct cgroup cgroup;
    if (!cgroup_find(root, "cpu", &cgroup))
        do
            take_smaller(&limits->quota_milli, quota_legacy(root, &cgroup));
        while (cgroup_up(&cgroup));
    if (!cgroup_find(root, "memory", &cgroup))
        do
            take_smaller(&limits->cgroup_memory_bytes, memory_in(root, &cgroup, "memory.limit_in_bytes"));
        while (cgroup_up(&cgroup));
}

static uint64_t read_node_memory(const char *root)
{
    char text[4096];
    uint64_t kb;
    if (file_read(root, "/proc/meminfo", text, sizeof text, NULL) || !scan_line_u64(text, "MemTotal:", &kb))
        return 0;
    return kb * 1024;
}

/* The soft limit; "unlimited" is not a number. */
static uint64_t read_address_space(const char *root)
{
    char text[4096];
    uint64_t bytes;
    if (file_read(root, "/proc/self/limits", text, sizeof text, NULL)
        || !scan_line_u64(text, "Max address space", &bytes))
        return 0;
    return bytes;
}

void limits_read(const char *root, struct limits *limits)
{
    *limits = (struct limits){ 0 };
    limits->affinity_cores = read_affinity(root);
    read_unified(root, limits);
    read_legacy(root, limits);
    take_smaller(&limits->cores_milli, limits->affinity_cores * 1000);
    take_smaller(&limits->cores_milli, limits->quota_milli);
    take_smaller(&limits->memory_bytes, limits->cgroup_memory_bytes);
    take_smaller(&limits->memory_bytes, read_node_memory(root));
    limits->address_space_bytes = read_address_space(root);
}
