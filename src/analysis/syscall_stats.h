/* System call statistics of a job. Derived from analysis/job_metrics.c, for the rules and the report. */
#ifndef SONDE_ANALYSIS_SYSCALL_STATS_H
#define SONDE_ANALYSIS_SYSCALL_STATS_H

#include "analysis/job_metrics.h"

/* NAN: unknown. */
struct syscall_stat {
    const char *name;  /* "read"; with the class of file: "read/file:ext4" */
    size_t name_size;  /* of the system call alone */
    double calls, errors, bytes, time_s; /* calls or bytes are greater than 0 */
};

struct syscall_stats {
    struct syscall_stat *list;    /* most time first; most calls if times are unknown */
    struct syscall_stat *classes; /* reads and writes by class of file, in the same order */
    size_t count, class_count;
    struct syscall_stat all;      /* totals; no name */
};

/* What was not counted although requested: while no agent was running, or after the command exited. */
struct syscall_stats_gap {
    uint64_t from_ns; /* start of the first gap; 0: none */
    uint64_t lost_ns; /* total length of the gaps that ended */
    bool is_open;     /* the last gap did not end */
    bool in_libc;     /* a run counted in libc, so programs without the probe are missing */
};

/* Adds a series of the set syscall_way; others are ignored. */
void syscall_stats_gap_add(struct syscall_stats_gap *gap, const struct run_series *series);

/* NOMEM. */
enum err syscall_stats_read(struct syscall_stats *calls, const struct job_metrics *metrics);
void syscall_stats_clear(struct syscall_stats *calls);

/* The part after '/': "file:ext4", "socket"; "" if there is none. */
const char *syscall_stats_class(const struct syscall_stat *call);

/* Is it what the kernel counted in addition to the calls in libc (read/other, write/other)? Those are not part of the
 * total. */
bool syscall_stats_is_extra(const struct syscall_stat *call);

/* Is it a call that only waits for others? Its time is no cost. */
bool syscall_stats_waits(const struct syscall_stat *call);

/* The call with the most time, with or without those that only wait; NULL: times are unknown. */
const struct syscall_stat *syscall_stats_longest(const struct syscall_stats *calls, bool with_waits);

#endif
