/* Names of perf events, made into what perf_event_open wants, each tried on this machine before it is promised. */
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
    bool is_reduced;  /* to user mode, which nobody asked for: this user may not count in the kernel */
};

/* list: names, ',' between: software events, hardware and hw-cache events of the kernel's list (as perf spells them,
 * PERF_COUNT_…, or as Colmet does), rNNN, PMU/terms/ of sysfs, and what libpfm4 knows; ":u" behind a name of the
 * kernel's list counts in user mode only. Names each event that this machine lacks once on stderr, with the reason and
 * the remedy; returns how many work. One that this user may count in user mode only says so in its name, with ":u". */
size_t perf_resolve(const char *list, struct perf_event_spec *specs, size_t max);

struct perf_problem;

/* The same with the names as they were given; who lacks an event is told to missing instead. */
size_t perf_resolve_with(const char *list, struct perf_event_spec *specs, size_t max,
                         void (*missing)(const char *name, const struct perf_problem *problem));

/* Why an event cannot be counted, in words; "" when it can. */
struct perf_problem {
    char reason[160];
    char fix[160];
};

/* One name. ABSENT: this machine or kernel lacks it; DENIED: this user may not; USAGE: no such name. */
enum err perf_resolve_one(const char *name, struct perf_event_spec *spec, struct perf_problem *problem);

/* The first name of a list that is no event's anywhere, as far as this machine can tell. False: there is none. */
bool perf_find_unknown(const char *list, char *name, size_t size);

/* perf_event_open(2), replaced by tests that stand in for hardware. */
extern int (*perf_event_open_call)(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

/* What the kernel is to be asked for this event of one thread. */
void perf_event_attr_init(const struct perf_event_spec *spec, struct perf_event_attr *attr);

#endif
