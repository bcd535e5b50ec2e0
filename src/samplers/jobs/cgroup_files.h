/* The files of a cgroup that contain metrics, v1 and v2, and their parsers. */
#ifndef SONDE_SAMPLERS_JOBS_CGROUP_FILES_H
#define SONDE_SAMPLERS_JOBS_CGROUP_FILES_H

#include "jobs/hierarchies.h"
#include "model/metric.h"

/* X(name, unit, kind, help, the kernel's name in v2) */
#define CGROUP_METRICS(X) \
    X(cpu, "us", COUNTER, "CPU time", "usage_usec") \
    X(cpu_user, "us", COUNTER, "CPU time in user mode", "user_usec") \
    X(cpu_system, "us", COUNTER, "CPU time in kernel mode", "system_usec") \
    X(cpu_periods, "1", COUNTER, "enforcement periods of the CPU quota", "nr_periods") \
    X(cpu_throttled_periods, "1", COUNTER, "periods in which the CPU quota throttled it", "nr_throttled") \
    X(cpu_throttled, "us", COUNTER, "time throttled by the CPU quota, summed over all CPUs", "throttled_usec") \
    X(memory, "B", GAUGE, "memory usage, including file cache", "memory.current") \
    X(memory_peak, "B", GAUGE, "peak memory usage", "memory.peak") \
    X(memory_limit, "B", GAUGE, "memory limit", "memory.max") \
    X(memory_anonymous, "B", GAUGE, "anonymous memory", "anon") \
    X(memory_file, "B", GAUGE, "file cache", "file") \
    X(memory_shared, "B", GAUGE, "shared memory and tmpfs", "shmem") \
    X(memory_kernel, "B", GAUGE, "kernel memory", "kernel") \
    X(page_faults, "1", COUNTER, "page faults", "pgfault") \
    X(major_page_faults, "1", COUNTER, "major page faults", "pgmajfault") \
    X(swap, "B", GAUGE, "swap usage", "memory.swap.current") \
    X(swap_peak, "B", GAUGE, "peak swap usage", "memory.swap.peak") \
    X(swap_limit, "B", GAUGE, "swap limit", "memory.swap.max") \
    X(memory_limit_hits, "1", COUNTER, "times that the memory limit was reached", "memory.events max") \
    X(oom_kills, "1", COUNTER, "processes killed by the OOM killer", "oom_kill") \
    X(io_read, "B", COUNTER, "bytes read from block devices", "rbytes") \
    X(io_written, "B", COUNTER, "bytes written to block devices", "wbytes") \
    X(io_reads, "1", COUNTER, "reads from block devices", "rios") \
    X(io_writes, "1", COUNTER, "writes to block devices", "wios") \
    X(pids, "1", GAUGE, "threads", "pids.current") \
    X(pids_peak, "1", GAUGE, "peak number of threads", "pids.peak") \
    X(pids_limit, "1", GAUGE, "thread limit", "pids.max") \
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

/* The values read from a cgroup. */
struct cgroup_values {
    uint64_t values[CGROUP_METRICS_SIZE];
    uint8_t known[CGROUP_METRICS_SIZE];
};

/* Caches which block devices are stacked on others (device mapper, md, loop), so that their I/O is not counted
 * twice. */
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

/* The hierarchy that has the file; HIERARCHY_NONE if there is none. */
size_t cgroup_file_hierarchy(const struct cgroup_file *file, const struct hierarchies *hierarchies);

/* A limit, which rarely changes. */
bool cgroup_file_is_limit(const struct cgroup_file *file);

/* Is its value already known from a better file? */
bool cgroup_file_is_redundant(const struct cgroup_file *file, const struct cgroup_values *values);

/* Accepts any text. */
void cgroup_file_parse(const struct cgroup_file *file, const char *text, struct cgroup_devices *devices,
                       struct cgroup_values *values);

const struct cgroup_file *cgroup_file_at(const struct cgroup_files *files, size_t i);

#endif
