/* The perf events of one cgroup and all below it: one descriptor for each event and each CPU, their counts scaled up for
 * the time in which an event had to share its counter with others, and added up. */
#ifndef SONDE_PROC_PERF_GROUP_H
#define SONDE_PROC_PERF_GROUP_H

#include "proc/perf.h"

#include <stdbool.h>

struct perf_group_count {
    int fd;                           /* -1: not open */
    uint64_t value, enabled, running; /* of the last reading */
};

struct perf_group_total {
    double value;      /* scaled; a sum of estimates */
    bool was_wanted;   /* somebody of the cgroup ran */
    bool was_counted;  /* … while the event had a counter */
};

/* Zeroed: closed. */
struct perf_group {
    int directory_fd; /* of the cgroup */
    size_t event_count, cpu_room;
    struct perf_group_count *counts; /* event_count for each CPU */
    struct perf_group_total *totals; /* event_count */
    bool is_open;
};

/* cpus: size of them, true where events are to be counted. Opens directory itself. FULL: no descriptor is left; ABSENT:
 * these events cannot be counted for a cgroup, or the directory is none; DENIED. */
enum err perf_group_open(struct perf_group *group, const char *directory, const struct perf_event_spec *specs,
                         size_t event_count, const bool *cpus, size_t cpu_count);

/* Whether an event can be counted for a cgroup: opened on the first of the CPUs, and closed again. */
enum err perf_group_try(const char *directory, const struct perf_event_spec *spec, const bool *cpus, size_t cpu_count);

/* CPUs went or came: closes and opens what is needed. */
enum err perf_group_change_cpus(struct perf_group *group, const struct perf_event_spec *specs, const bool *cpus,
                                size_t cpu_count);

/* Takes in what was counted since the last reading. */
void perf_group_read(struct perf_group *group);

/* False: the event never had a counter, so that nothing is known of it. */
bool perf_group_total(const struct perf_group *group, size_t event, uint64_t *value);

/* Harmless when it is closed. */
void perf_group_close(struct perf_group *group);

/* How many descriptors it has or would have. */
size_t perf_group_needs(size_t event_count, const bool *cpus, size_t cpu_count);

/* Adds the difference of two readings to the total. */
void perf_group_add(struct perf_group_total *total, struct perf_group_count *last, const uint64_t now[3]);

#endif
