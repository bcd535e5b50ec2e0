/* The files of a control group that hold numbers, v1 and v2, and what stands in them. */
#ifndef SONDE_SAMPLERS_JOBS_CGROUP_FILES_H
#define SONDE_SAMPLERS_JOBS_CGROUP_FILES_H

#include "jobs/hierarchies.h"
#include "model/metric.h"

/* X(name, unit, kind, help, the kernel's name in v2) */
#define CGROUP_METRICS(X) \
    X(cpu, "us", COUNTER, "CPU time", "usage_usec") \
    X(cpu_user, "us", COUNTER, "CPU time in user mode", "user_usec") \
    X(cpu_system, "us", COUNTER, "CPU time in the kernel", "system_usec") \
    X(cpu_periods, "1", COUNTER, "periods in which its CPU quota was looked after", "nr_periods") \
    X(cpu_throttled_periods, "1", COUNTER, "periods in which it was stopped by its CPU quota", "nr_throttled") \
    X(cpu_throttled, "us", COUNTER, "time that its CPU quota stopped it, all CPUs together", "throttled_usec") \
    X(memory, "B", GAUGE, "memory that it has, with its file cache", "memory.current") \
    X(memory_peak, "B", GAUGE, "the most memory that it had", "memory.peak") \
    X(memory_limit, "B", GAUGE, "memory that it may have", "memory.max") \
    X(memory_anonymous, "B", GAUGE, "memory that is not of a file", "anon") \
    X(memory_file, "B", GAUGE, "file cache", "file") \
    X(memory_shared, "B", GAUGE, "shared memory and tmpfs", "shmem") \
    X(memory_kernel, "B", GAUGE, "memory of the kernel for it", "kernel") \
    X(page_faults, "1", COUNTER, "page faults", "pgfault") \
    X(major_page_faults, "1", COUNTER, "page faults that waited for storage", "pgmajfault") \
    X(swap, "B", GAUGE, "swap space that it has", "memory.swap.current") \
    X(swap_peak, "B", GAUGE, "the most swap space that it had", "memory.swap.peak") \
    X(swap_limit, "B", GAUGE, "swap space that it may have", "memory.swap.max") \
    X(memory_limit_hits, "1", COUNTER, "times that it reached its memory limit", "memory.events max") \
    X(oom_kills, "1", COUNTER, "processes killed because it was out of memory", "oom_kill") \
    X(io_read, "B", COUNTER, "bytes read from block devices", "rbytes") \
    X(io_written, "B", COUNTER, "bytes written to block devices", "wbytes") \
    X(io_reads, "1", COUNTER, "readings from block devices", "rios") \
    X(io_writes, "1", COUNTER, "writings to block devices", "wios") \
    X(pids, "1", GAUGE, "threads", "pids.current") \
    X(pids_peak, "1", GAUGE, "the most threads at a time", "pids.peak") \
    X(pids_limit, "1", GAUGE, "threads that it may have", "pids.max") \
    X(cpu_some, "us", COUNTER, "time in which a task waited for a CPU", "cpu.pressure some") \
    X(cpu_full, "us", COUNTER, "time in which all tasks waited for a CPU", "cpu.pressure full") \
    X(memory_some, "us", COUNTER, "time in which a task waited for memory", "memory.pressure some") \
    X(memory_full, "us", COUNTER, "time in which all tasks waited for memory", "memory.pressure full") \
    X(io_some, "us", COUNTER, "time in which a task waited for storage", "io.pressure some") \
    X(io_full, "us", COUNTER, "time in which all tasks waited for storage", "io.pressure full")

enum cgroup_metric {
#define X(name, unit, kind, help, source) CGROUP_##name,
    CGROUP_METRICS(X)
#undef X
    CGROUP_METRICS_SIZE
};

/* What was read of a group. */
struct cgroup_values {
    uint64_t values[CGROUP_METRICS_SIZE];
    uint8_t known[CGROUP_METRICS_SIZE];
};

/* Block devices whose bytes are those of other devices too (device mapper, md, loop) are not counted twice. */
struct cgroup_devices {
    const char *root; /* borrowed */
    struct cgroup_device {
        uint32_t major, minor;
        bool is_stacked;
    } list[64];
    size_t count;
};

struct cgroup_file;

#define CGROUP_FILES_MAX 24

struct cgroup_files {
    const struct cgroup_file *list;
    size_t count;
};

extern const struct cgroup_files cgroup_files_v1, cgroup_files_v2;

const char *cgroup_file_name(const struct cgroup_file *file);

/* Its place in the hierarchies; HIERARCHY_NONE when they do not have it. */
size_t cgroup_file_hierarchy(const struct cgroup_file *file, const struct hierarchies *hierarchies);

/* A limit: it changes seldom. */
bool cgroup_file_is_limit(const struct cgroup_file *file);

/* Is what it has known from a better file already? */
bool cgroup_file_is_redundant(const struct cgroup_file *file, const struct cgroup_values *values);

/* Takes any text. */
void cgroup_file_parse(const struct cgroup_file *file, const char *text, struct cgroup_devices *devices,
                       struct cgroup_values *values);

const struct cgroup_file *cgroup_file_at(const struct cgroup_files *files, size_t i);

#endif
