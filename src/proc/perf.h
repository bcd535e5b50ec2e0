/* Resolves names of perf events to arguments of perf_event_open, and checks each on this node. */
#ifndef SONDE_PROC_PERF_H
#define SONDE_PROC_PERF_H

#include "base/err.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_spec {
    char name[64];
    uint32_t type;
    uint64_t config, config1, config2;
    unsigned exclude; /* PROBE_EXCLUDE_* of spool/probe_env.h */
    bool is_reduced;  /* restricted to user mode because this user may not count in the kernel */
};

/* list: comma-separated names: software, hardware and hw-cache events of the kernel (as perf spells them, PERF_COUNT_…,
 * or as Colmet does), rNNN, PMU/terms/ of sysfs, and names of libpfm4. ":u" after a kernel event counts user mode only.
 * Logs each event that is not available once, with the reason and the fix; returns the number of usable events. An
 * event that this user may count in user mode only gets ":u" appended to its name. */
size_t perf_resolve(const char *list, struct perf_event_spec *specs, size_t max);

struct perf_problem;

/* The same, but names stay as given, and missing() is called for unavailable events instead of logging. With is_counted
 * (max flags), they keep their place, with nothing but their name. */
size_t perf_resolve_with(const char *list, struct perf_event_spec *specs, bool *is_counted, size_t max,
                         void (*missing)(const char *name, const struct perf_problem *problem));

/* Why an event cannot be counted, and what to do; "" if it can. */
struct perf_problem {
    char reason[160];
    char fix[160];
};

/* Resolves one name. ABSENT: this node or kernel does not have it; DENIED: not permitted; USAGE: no such name. */
enum err perf_resolve_one(const char *name, struct perf_event_spec *spec, struct perf_problem *problem);

/* Finds the first name in list that is not an event anywhere, as far as this node knows. False: there is none. */
bool perf_find_unknown(const char *list, char *name, size_t size);

/* perf_event_open(2); tests replace it to simulate hardware. */
extern int (*perf_event_open_call)(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

/* Fills in attr to count this event for one thread. */
void perf_event_attr_init(const struct perf_event_spec *spec, struct perf_event_attr *attr);

#endif
