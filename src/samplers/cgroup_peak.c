/* Reads memory.max_usage_in_bytes (v1) or memory.peak (v2). Both include page cache and kernel memory, both reclaimable: the
 * most of that at any reading is subtracted. */
#include "samplers/cgroup_peak.h"

#include "base/file.h"
#include "base/scan.h"
#include "proc/taskfile.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 16384     /* memory.stat has 2 to 4 KB; a longer list of processes is not examined */
#define ANCESTORS_MAX 64

struct memory_usage {
    uint64_t peak, now, reclaimable;
};

static bool read_text(const struct cgroup_peak *peak, const char *file, char text[TEXT_MAX])
{
    char path[FILE_PATH_MAX];
    size_t size = 0;
    int length = snprintf(path, sizeof path, "%s%s/%s", peak->cgroup.mount, peak->cgroup.path, file);
    return length > 0 && length < FILE_PATH_MAX && file_read(peak->root, path, text, TEXT_MAX, &size) == OK
           && size < TEXT_MAX - 1;
}

static bool read_number(const struct cgroup_peak *peak, const char *file, uint64_t *number)
{
    char text[64];
    const char *at = text;
    return cgroup_read(peak->root, &peak->cgroup, file, text, sizeof text) == OK && scan_u64(&at, number);
}

/* Shared memory is part of the cache, but cannot be reclaimed. */
static bool read_usage(const struct cgroup_peak *peak, struct memory_usage *usage)
{
    bool unified = peak->cgroup.unified;
    char text[TEXT_MAX];
    uint64_t cache, shared, kernel = 0;
    if (!read_number(peak, unified ? "memory.peak" : "memory.max_usage_in_bytes", &usage->peak)
        || !read_number(peak, unified ? "memory.current" : "memory.usage_in_bytes", &usage->now)
        || !read_text(peak, "memory.stat", text) || !scan_line_u64(text, unified ? "file " : "total_cache ", &cache)
        || !scan_line_u64(text, unified ? "shmem " : "total_shmem ", &shared))
        return false;
    if (!unified)
        read_number(peak, "memory.kmem.usage_in_bytes", &kernel);
    else if (!scan_line_u64(text, "kernel ", &kernel) && !scan_line_u64(text, "slab ", &kernel))
        return false;
    usage->reclaimable = (cache > shared ? cache - shared : 0) + kernel;
    return true;
}

/* Is other an ancestor of pid, or pid itself? */
static bool is_above(int proc_fd, uint32_t other, uint32_t pid)
{
    struct taskfile_stat stat;
    for (int hops = 0; pid && hops < ANCESTORS_MAX; hops++) {
        if (pid == other)
            return true;
        if (taskfile_read_stat(proc_fd, pid, &stat))
            return false;
        pid = stat.ppid;
    }
    return false;
}

/* A process that exits meanwhile is nobody's. */
static bool is_foreign(const struct cgroup_peak *peak, int proc_fd, const struct pidmap *members, uint32_t pid)
{
    struct taskfile_stat stat;
    bool is_ours = (members && pidmap_get(members, pid) != PIDMAP_NONE) || is_above(proc_fd, peak->pid, pid)
                   || is_above(proc_fd, pid, peak->pid);
    return !is_ours && (!pid || taskfile_read_stat(proc_fd, pid, &stat) == OK);
}

/* Are all processes of the cgroup of the run, or its ancestors? pid 0 is one outside our pid namespace. */
static bool is_alone(const struct cgroup_peak *peak, int proc_fd, const struct pidmap *members)
{
    char text[TEXT_MAX];
    const char *at = text;
    uint64_t pid;
    if (!read_text(peak, "cgroup.procs", text))
        return false;
    while (scan_u64(&at, &pid)) {
        at += strspn(at, "\n");
        if (is_foreign(peak, proc_fd, members, (uint32_t)pid))
            return false;
    }
    return true;
}

static bool find(struct cgroup_peak *peak, struct memory_usage *usage)
{
    if (cgroup_find(peak->root, "memory", &peak->cgroup) == OK && peak->cgroup.path[0] && read_usage(peak, usage))
        return true;
    return cgroup_find(peak->root, NULL, &peak->cgroup) == OK && peak->cgroup.path[0] && read_usage(peak, usage);
}

void cgroup_peak_open(struct cgroup_peak *peak, const char *root, int proc_fd, uint32_t pid)
{
    struct memory_usage usage;
    *peak = (struct cgroup_peak){ .root = root, .pid = pid };
    peak->is_usable = find(peak, &usage) && is_alone(peak, proc_fd, NULL);
    if (!peak->is_usable)
        return;
    peak->peak_before = usage.peak;
    peak->base = usage.now > usage.reclaimable ? usage.now - usage.reclaimable : 0;
}

bool cgroup_peak_read(struct cgroup_peak *peak, int proc_fd, const struct pidmap *members, uint64_t *bytes)
{
    struct memory_usage usage;
    if (!peak->is_usable)
        return false;
    peak->is_usable = is_alone(peak, proc_fd, members) && read_usage(peak, &usage);
    if (!peak->is_usable)
        return false;
    if (usage.reclaimable > peak->reclaimable)
        peak->reclaimable = usage.reclaimable;
    uint64_t less = peak->reclaimable + peak->base;
    if (usage.peak <= peak->peak_before || usage.peak <= less)
        return false;
    *bytes = usage.peak - less;
    return true;
}
