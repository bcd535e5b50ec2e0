/* The system calls of a job in figures. From analysis/program_metrics.c to the rules and the report. */
#ifndef SONDE_ANALYSIS_SYSCALLS_H
#define SONDE_ANALYSIS_SYSCALLS_H

#include "analysis/program_metrics.h"

/* NAN: not known. */
struct call {
    const char *name;  /* "read"; with what it went to: "read/file:ext4" */
    size_t name_size;  /* of the call alone */
    double calls, errors, bytes, time_s; /* calls or bytes are more than 0 */
};

struct calls {
    struct call *list;    /* most time first; most calls where time is not known */
    struct call *classes; /* reads and writes by what they went to, in the same order */
    size_t count, class_count;
    struct call all;      /* sums; no name */
};

/* What was not counted, though that was asked for. When nobody did: the agent that did was gone, or the command, for whose rest
 * it does not. */
struct calls_gap {
    uint64_t from_ns; /* the first; 0: none */
    uint64_t lost_ns; /* of all that ended */
    bool is_open;     /* one did not */
    bool in_libc;     /* a run counted in libc, and so nothing of programs in which the probe was not */
};

/* Takes a series of the set syscall_way; others are passed over. */
void calls_gap_add(struct calls_gap *gap, const struct run_series *series);

/* NOMEM. */
enum err calls_read(struct calls *calls, const struct told *told);
void calls_clear(struct calls *calls);

/* Behind '/': "file:ext4", "socket"; "" when it has none. */
const char *calls_class(const struct call *call);

/* Is it what the kernel counted beyond the calls in libc (read/other, write/other)? That is no part of the sum. */
bool calls_is_beside(const struct call *call);

/* Does the call only wait, for as long as others take? Its time is no cost. */
bool calls_waits(const struct call *call);

/* The one that took most time, with those that only wait or without; NULL: time is not known. */
const struct call *calls_longest(const struct calls *calls, bool with_waits);

#endif
