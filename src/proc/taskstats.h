/* Parses struct taskstats of all kernel versions. Its layout changed in the middle once: version 15 (Linux 6.14 and
 * 6.15) put the maximum and minimum delay after each total; version 16 moved them to the end. */
#ifndef SONDE_PROC_TASKSTATS_H
#define SONDE_PROC_TASKSTATS_H

#include "proc/taskstats_exits.h"

/* Fills in record, except process_ended and pid (0) of kernels before version 12. The name is borrowed from stats.
 * CORRUPT: too few bytes for the version. */
enum err taskstats_convert(struct bytes stats, const struct taskstats_accounting *accounting,
                           struct taskstats_record *record);

/* The fields that are added up over the tasks of a job, or of which the minimum or maximum counts: those of Colmet in
 * its order, and the high-water marks. X(the kernel's and Colmet's name, our name, unit, factor to that unit, kind, how
 * two tasks are merged, the accounting that must be on, help) */
#define TASKSTATS_FIELDS(X) \
    X(cpu_count, timeslices, "1", 1, COUNTER, ADD, ALWAYS, "timeslices run") \
    X(cpu_delay_total, cpu_wait, "ns", 1, COUNTER, ADD, ALWAYS, "time runnable but waiting for a CPU") \
    X(blkio_count, blkio_waits, "1", 1, COUNTER, ADD, DELAYS, "waits for block I/O") \
    X(blkio_delay_total, blkio_wait, "ns", 1, COUNTER, ADD, DELAYS, "time blocked for block I/O") \
    X(swapin_count, swapin_waits, "1", 1, COUNTER, ADD, DELAYS, "waits for pages from swap") \
    X(swapin_delay_total, swapin_wait, "ns", 1, COUNTER, ADD, DELAYS, "time blocked for pages from swap") \
    X(cpu_run_real_total, cpu_real, "ns", 1, COUNTER, ADD, ALWAYS, "CPU time, by ticks") \
    X(cpu_run_virtual_total, cpu, "ns", 1, COUNTER, ADD, ALWAYS, \
      "exact CPU time, of the scheduler or the job's cgroup, whichever is larger") \
    X(ac_btime, begin, "s", 1, GAUGE, SMALLER, ALWAYS, "start of the earliest observed task, since 1970") \
    X(ac_etime, elapsed, "us", 1, GAUGE, LARGER, ALWAYS, "age of the oldest observed task") \
    X(ac_utime, user, "us", 1, COUNTER, ADD, ALWAYS, "CPU time in user mode, by ticks") \
    X(ac_stime, system, "us", 1, COUNTER, ADD, ALWAYS, "CPU time in kernel mode, by ticks") \
    X(ac_minflt, minor_faults, "1", 1, COUNTER, ADD, ALWAYS, "minor page faults") \
    X(ac_majflt, major_faults, "1", 1, COUNTER, ADD, ALWAYS, "major page faults") \
    X(coremem, rss_time, "MB*us", 1, COUNTER, ADD, ALWAYS, "resident memory integrated over CPU time") \
    X(virtmem, vm_time, "MB*us", 1, COUNTER, ADD, ALWAYS, "virtual memory integrated over CPU time") \
    X(read_char, rchar, "B", 1, COUNTER, ADD, CUT, "bytes read by system calls, rounded down to KiB per task") \
    X(write_char, wchar, "B", 1, COUNTER, ADD, CUT, "bytes written by system calls, rounded down to KiB per task") \
    X(read_syscalls, syscr, "1", 1, COUNTER, ADD, CUT, "read system calls, rounded down to multiples of 1,024 per task") \
    X(write_syscalls, syscw, "1", 1, COUNTER, ADD, CUT, "write system calls, rounded down to multiples of 1,024 per task") \
    X(read_bytes, read_bytes, "B", 1, COUNTER, ADD, IO, "bytes fetched from storage") \
    X(write_bytes, write_bytes, "B", 1, COUNTER, ADD, IO, "bytes sent to storage") \
    X(cancelled_write_bytes, cancelled_write_bytes, "B", 1, COUNTER, ADD, IO, \
      "bytes not written because the file was truncated") \
    X(nvcsw, vol_ctxsw, "1", 1, COUNTER, ADD, ALWAYS, "voluntary context switches") \
    X(nivcsw, invol_ctxsw, "1", 1, COUNTER, ADD, ALWAYS, "involuntary context switches") \
    X(ac_utimescaled, user_scaled, "us", 1, COUNTER, ADD, ALWAYS, "user time scaled by CPU frequency") \
    X(ac_stimescaled, system_scaled, "us", 1, COUNTER, ADD, ALWAYS, "system time scaled by CPU frequency") \
    X(cpu_scaled_run_real_total, cpu_scaled, "ns", 1, COUNTER, ADD, ALWAYS, "CPU time scaled by CPU frequency") \
    X(freepages_count, reclaim_waits, "1", 1, COUNTER, ADD, DELAYS, "waits for memory reclaim") \
    X(freepages_delay_total, reclaim_wait, "ns", 1, COUNTER, ADD, DELAYS, "time waiting for memory reclaim") \
    X(hiwater_rss, rss_peak, "B", 1024, GAUGE, LARGER, MARKS, "peak resident memory of one process") \
    X(hiwater_vm, vm_peak, "B", 1024, GAUGE, LARGER, MARKS, "peak virtual memory of one process")

enum taskstats_field {
#define X(field, ...) TASKSTATS_##field,
    TASKSTATS_FIELDS(X)
#undef X
    TASKSTATS_SIZE,
};

/* Usage of one task so far. */
struct taskstats_usage {
    uint32_t tid, pid, ppid; /* pid, ppid: 0 on old kernels */
    uint64_t begin_s;        /* since 1970; may differ by one between two queries of the same task */
    bool process_ended;      /* exit record: no thread of the process is left */
    uint64_t known;          /* bit i: value[i] is known */
    uint64_t value[TASKSTATS_SIZE];
};

/* Accepts any version. CORRUPT: too few bytes for the version. */
enum err taskstats_extract(struct bytes stats, const struct taskstats_accounting *accounting,
                           struct taskstats_usage *usage);

/* Adds, or takes the minimum or maximum, field by field. A field that is known in either is known in the sum. */
void taskstats_merge(struct taskstats_usage *sum, const struct taskstats_usage *usage);

/* Subtracts the additive fields from the sum. */
void taskstats_subtract(struct taskstats_usage *sum, const struct taskstats_usage *usage);

/* Raises the counters of now to those of before. */
void taskstats_clamp_counters(struct taskstats_usage *now, const struct taskstats_usage *before);

#endif
