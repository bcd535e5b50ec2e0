/* System calls as a table: calls, errors, bytes, time. */
#ifndef SONDE_REPORT_SYSCALL_TABLE_H
#define SONDE_REPORT_SYSCALL_TABLE_H

#include "syscalls/syscall_counts.h"
#include "report/terminal.h"

/* Most time first, or most calls if times are unknown; totals at the end. over_ns: how long they were counted. */
enum err syscall_table_print(const struct syscall_counts *counts, uint64_t over_ns, struct buf *out,
                             const struct terminal *terminal);

/* A line with the calls that threads were in at the end; nothing if there are none. threads: array of SYSCALL_NAMES_MAX
 * counts. */
void syscall_table_print_pending(const uint32_t *threads, struct buf *out);

#endif
