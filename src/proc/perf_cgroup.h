/* The perf events of one cgroup and all below it: one descriptor for each event and each CPU, their counts scaled up for
 * the time in which an event had to share its counter with others, and added up. */
#ifndef SONDE_PROC_PERF_CGROUP_H
#define SONDE_PROC_PERF_CGROUP_H

#include "proc/perf.h"

#include <stdbool.h>

struct perf_cgroup_count {
    int fd;                           /* -1: not open */
    uint64_t value, enabled, running; /* of the last reading */
};

struct perf_cgroup_total {
    double value;      /* scaled; a sum of estimates */
    bool was_scheduled;   /* somebody of the cgroup ran */
    bool was_counted;  /* … while the event had a counter */
};

/* Zeroed: closed. */
struct perf_cgroup {
    int directory_fd; /* of the cgroup */
    size_t event_count, cpu_capacity;
    struct perf_cgroup_count *counts; /* event_count for each CPU */
    struct perf_cgroup_total *totals; /* event_count */
    bool is_open;
};

/* cpus: size of them, true where events are to be counted. Opens directory itself. FULL: no descriptor is left; ABSENT:
 * these events cannot be counted for a cgroup, or the directory is none; DENIED. */
enum err perf_cgroup_open(struct perf_cgroup *group, const char *directory, const struct perf_event_spec *specs,
                          size_t event_count, const bool *cpus, size_t cpu_count);

/* Whether an event can be counted for a cgroup: opened on the first of the CPUs, and closed again. */
enum err perf_cgroup_try(const char *directory, const struct perf_event_spec *spec, const bool *cpus, size_t cpu_count);

/* CPUs went or came: closes and opens what is needed. */
enum err perf_cgroup_change_cpus(struct perf_cgroup *group, const struct perf_event_spec *specs, const bool *cpus,
                                 size_t cpu_count);

/* Takes in what was counted since the last reading. */
void perf_cgroup_read(struct perf_cgroup *group);

/* False: the event never had a counter, so that nothing is known of it. */
bool perf_cgroup_total(const struct perf_cgroup *group, size_t event, uint64_t *value);

/* Harmless when it is closed. */
void perf_cgroup_close(struct perf_cgroup *group);

/* How many descriptors it has or would have. */
size_t perf_cgroup_fd_count(size_t event_count, const bool *cpus, size_t cpu_count);

/* Adds the difference of two readings to the total. */
void perf_cgroup_add(struct perf_cgroup_total *total, struct perf_cgroup_count *last, const uint64_t now[3]);

#endif
