/* Perf events of one cgroup and all below it: one descriptor per event and CPU. Counts are scaled up for the time in
 * which an event was multiplexed, and added up. */
#ifndef SONDE_PROC_PERF_CGROUP_H
#define SONDE_PROC_PERF_CGROUP_H

#include "proc/perf.h"

#include <stdbool.h>

struct perf_cgroup_count {
    int fd;                           /* -1: not open */
    uint64_t value, enabled, running; /* of the last reading */
};

struct perf_cgroup_total {
    double value;      /* scaled: a sum of estimates */
    bool was_scheduled;   /* a task of the cgroup ran */
    bool was_counted;  /* … while the event had a hardware counter */
};

/* Zeroed: closed. */
struct perf_cgroup {
    int directory_fd; /* directory of the cgroup */
    size_t event_count, cpu_capacity;
    struct perf_cgroup_count *counts; /* event_count per CPU */
    struct perf_cgroup_total *totals; /* event_count */
    bool is_open;
};

/* cpus[i]: count on CPU i. FULL: no descriptor left; ABSENT: these events cannot be counted for a cgroup, or there is
 * no such directory; DENIED. */
enum err perf_cgroup_open(struct perf_cgroup *group, const char *directory, const struct perf_event_spec *specs,
                          size_t event_count, const bool *cpus, size_t cpu_count);

/* Checks whether an event can be counted for a cgroup, on the first of the CPUs. */
enum err perf_cgroup_try(const char *directory, const struct perf_event_spec *spec, const bool *cpus, size_t cpu_count);

/* Opens and closes events after CPUs went online or offline. */
enum err perf_cgroup_change_cpus(struct perf_cgroup *group, const struct perf_event_spec *specs, const bool *cpus,
                                 size_t cpu_count);

/* Adds what was counted since the last reading. */
void perf_cgroup_read(struct perf_cgroup *group);

/* False: the event never had a hardware counter, so its count is unknown. */
bool perf_cgroup_total(const struct perf_cgroup *group, size_t event, uint64_t *value);

/* Does nothing if it is closed. */
void perf_cgroup_close(struct perf_cgroup *group);

/* The number of descriptors that it needs. */
size_t perf_cgroup_fd_count(size_t event_count, const bool *cpus, size_t cpu_count);

/* Adds the difference of two readings to the total. */
void perf_cgroup_add(struct perf_cgroup_total *total, struct perf_cgroup_count *last, const uint64_t now[3]);

#endif
