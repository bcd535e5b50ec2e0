/* System calls as a table: calls, errors, bytes, time. */
#ifndef SONDE_REPORT_SYSCALLS_H
#define SONDE_REPORT_SYSCALLS_H

#include "syscalls/syscall_counts.h"
#include "report/terminal.h"

/* Most time first, or most calls where time is not known; a sum at the end. over_ns: how long they were watched. */
enum err calls_print(const struct syscall_counts *counts, uint64_t over_ns, struct buf *out, const struct terminal *terminal);

/* A line of the calls in which threads were at the end; nothing where there are none. threads: SYSCALL_NAMES_MAX of them. */
void calls_print_pending(const uint32_t *threads, struct buf *out);

#endif
