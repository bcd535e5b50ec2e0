/* Counts of system calls by number, in memory that the counting and the reading process may share. */
#ifndef SONDE_SYSCALLS_SYSCALL_COUNTS_H
#define SONDE_SYSCALLS_SYSCALL_COUNTS_H

#include "model/batch.h"
#include "syscalls/syscall_names.h"

#include <stdatomic.h>

struct syscall_count {
    _Atomic uint64_t calls, errors, bytes, time_ns; /* written by one process only */
};

struct syscall_counts {
    bool timed; /* else time_ns is unknown */
    struct syscall_count of[SYSCALL_NAMES_MAX];
};

/* A call has returned; result is the kernel's: -errno on failure. */
void syscall_counts_add(struct syscall_counts *counts, unsigned number, int64_t result, uint64_t time_ns);

/* Adds a sample of the metric set `syscall` for each call that was made. */
void syscall_counts_sample(const struct syscall_counts *counts, uint64_t time_ns, struct batch *out);

uint64_t syscall_counts_calls(const struct syscall_counts *counts); /* total number of calls */

#endif
