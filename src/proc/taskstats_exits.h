/* The kernel's exit records (taskstats): what each thread of the node had used when it ended, whoever started it and
 * however it died. Needs root (CAP_NET_ADMIN) in the initial pid and network namespace.
 *
 * How far the numbers can be trusted: CPU time is that of the last scheduling event, so that up to one tick per thread
 * is missing at its end (a thread of 0.3 ms may read 0.04), unless the thread asked for its own CPU clock last, which
 * brings the count up to date; wait4 and getrusage do not have this fault. Bytes read and written are cut down to whole
 * KiB, numbers of system calls to multiples of 1024: these are left out. */
#ifndef SONDE_PROC_TASKSTATS_EXITS_H
#define SONDE_PROC_TASKSTATS_EXITS_H

#include "base/err.h"
#include "spool/record.h"

/* What of the kernel's records means anything here: a field of an accounting that is off reads 0. */
struct taskstats_accounting {
    bool io;     /* the kernel counts I/O */
    bool delays; /* proc/delay_accounting.h: it counts them */
    uint64_t now_ns; /* CLOCK_REALTIME when the records were read */
};

struct taskstats_exits {
    int fd;
    uint64_t lost; /* records that overflowed the socket since it was opened */
    uint16_t family;
    struct taskstats_accounting accounting;
    char cpus[1024];
};

/* ABSENT: no taskstats in this kernel, or not the initial namespaces. DENIED: not root. */
enum err taskstats_exits_open(struct taskstats_exits *exits);

/* All that is there; never blocks. The record's name is borrowed until each returns. */
enum err taskstats_exits_read(struct taskstats_exits *exits,
                              void (*each)(void *context, const struct taskstats_record *record),
                              void *context);

void taskstats_exits_close(struct taskstats_exits *exits);

/* What the kernel sends of a thread that ended, before it is converted. */
struct taskstats_exit {
    struct bytes stats; /* struct taskstats, of any version; borrowed from the datagram */
    uint32_t pid;       /* 0: not told (the record itself has it since version 12) */
    bool process_ended; /* it was the last of several threads */
};

/* The same as taskstats_exits_read, unconverted: for those who need other fields (taskstats_extract). */
enum err taskstats_exits_read_raw(struct taskstats_exits *exits,
                                  void (*each)(void *context, const struct taskstats_exit *thread),
                                  void *context);
void taskstats_exits_parse_raw(struct bytes datagram, uint16_t family,
                               void (*each)(void *context, const struct taskstats_exit *thread), void *context);

/* Which accountings this kernel has on, by what stands below root. */
void taskstats_accounting_read(struct taskstats_accounting *accounting, const char *root);

/* The records in one datagram; anything else in it is skipped. Takes any bytes. */
void taskstats_exits_parse(struct bytes datagram, uint16_t family, const struct taskstats_accounting *accounting,
                           void (*each)(void *context, const struct taskstats_record *record), void *context);

#endif
