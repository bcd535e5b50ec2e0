/* The kernel's exit records (taskstats): the resource usage of each thread of the node when it exits, whoever started
 * it and however it died. Needs root (CAP_NET_ADMIN) in the initial pid and network namespace.
 *
 * Accuracy: CPU time is that of the last scheduling event, so up to one tick per thread is missing (a thread of 0.3 ms
 * may read 0.04), unless the thread read its own CPU clock last, which updates the count; wait4 and getrusage are
 * exact. Bytes read and written are rounded down to KiB, numbers of system calls to multiples of 1024: the latter are
 * left out. */
#ifndef SONDE_PROC_TASKSTATS_EXITS_H
#define SONDE_PROC_TASKSTATS_EXITS_H

#include "base/err.h"
#include "spool/record.h"

/* Which accounting of the kernel is on: otherwise the fields read 0. */
struct taskstats_accounting {
    bool io;     /* I/O accounting */
    bool delays; /* delay accounting (proc/delay_accounting.h) */
    uint64_t now_ns; /* CLOCK_REALTIME when the records were read */
};

struct taskstats_exits {
    int fd;
    uint64_t lost; /* records lost to overflow since it was opened */
    uint16_t family;
    struct taskstats_accounting accounting;
    char cpus[1024];
};

/* ABSENT: no taskstats in this kernel, or not in the initial namespaces. DENIED: not root. */
enum err taskstats_exits_open(struct taskstats_exits *exits);

/* Reads all waiting records; never blocks. The record's name is borrowed until each returns. */
enum err taskstats_exits_read(struct taskstats_exits *exits,
                              void (*each)(void *context, const struct taskstats_record *record),
                              void *context);

void taskstats_exits_close(struct taskstats_exits *exits);

/* An exit message of the kernel before conversion. */
struct taskstats_exit {
    struct bytes stats; /* struct taskstats of any version; borrowed from the datagram */
    uint32_t pid;       /* 0: unknown (in stats itself since version 12) */
    bool process_ended; /* it was the last of several threads */
};

/* The same without conversion, for callers that need other fields (taskstats_extract). */
enum err taskstats_exits_read_raw(struct taskstats_exits *exits,
                                  void (*each)(void *context, const struct taskstats_exit *thread),
                                  void *context);
void taskstats_exits_parse_raw(struct bytes datagram, uint16_t family,
                               void (*each)(void *context, const struct taskstats_exit *thread), void *context);

/* Reads which accounting is on, below root. */
void taskstats_accounting_read(struct taskstats_accounting *accounting, const char *root);

/* Parses the records of one datagram and skips everything else. Accepts any bytes. */
void taskstats_exits_parse(struct bytes datagram, uint16_t family, const struct taskstats_accounting *accounting,
                           void (*each)(void *context, const struct taskstats_record *record), void *context);

#endif
