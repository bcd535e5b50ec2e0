/* struct taskstats as kernels of all versions write it, field by field. Its head grew in the middle once: version 15
 * (Linux 6.14 and 6.15) put the largest and smallest delay behind each total, version 16 moved them to the end. */
#ifndef SONDE_PROC_TASKSTATS_H
#define SONDE_PROC_TASKSTATS_H

#include "proc/taskstats_exits.h"

/* Fills record, save for process_ended of kernels before version 12 and the pid that they do not tell (0). The name is
 * borrowed from stats. CORRUPT when the bytes are too few for the version that they claim. */
enum err taskstats_convert(struct bytes stats, const struct taskstats_accounting *accounting,
                           struct taskstats_record *record);

/* The fields that add up over the tasks of a job, or whose smallest or largest counts: those that Colmet has, in its
 * order, and the high-water marks. X(the kernel's name, which is Colmet's; ours, unit, factor to that unit, kind, how two
 * tasks are joined, the accounting that must be on, help) */
#define TASKSTATS_FIELDS(X) \
    X(cpu_count, timeslices, "1", 1, COUNTER, ADD, ALWAYS, "times that a task was put on a CPU") \
    X(cpu_delay_total, cpu_wait, "ns", 1, COUNTER, ADD, ALWAYS, "time runnable but waiting for a CPU") \
    X(blkio_count, blkio_waits, "1", 1, COUNTER, ADD, DELAYS, "waits for block I/O") \
    X(blkio_delay_total, blkio_wait, "ns", 1, COUNTER, ADD, DELAYS, "time blocked for block I/O") \
    X(swapin_count, swapin_waits, "1", 1, COUNTER, ADD, DELAYS, "waits for pages from swap") \
    X(swapin_delay_total, swapin_wait, "ns", 1, COUNTER, ADD, DELAYS, "time blocked for pages from swap") \
    X(cpu_run_real_total, cpu_real, "ns", 1, COUNTER, ADD, ALWAYS, "CPU time by the clock's ticks") \
    X(cpu_run_virtual_total, cpu, "ns", 1, COUNTER, ADD, ALWAYS, \
      "CPU time, exact: of the scheduler, and what the job's cgroup has more") \
    X(ac_btime, begin, "s", 1, GAUGE, SMALLER, ALWAYS, "begin of the first task that was seen, since 1970") \
    X(ac_etime, elapsed, "us", 1, GAUGE, LARGER, ALWAYS, "age of the oldest task that was seen") \
    X(ac_utime, user, "us", 1, COUNTER, ADD, ALWAYS, "CPU time in user mode, by the clock's ticks") \
    X(ac_stime, system, "us", 1, COUNTER, ADD, ALWAYS, "CPU time in the kernel, by the clock's ticks") \
    X(ac_minflt, minor_faults, "1", 1, COUNTER, ADD, ALWAYS, "page faults without disk access") \
    X(ac_majflt, major_faults, "1", 1, COUNTER, ADD, ALWAYS, "page faults with disk access") \
    X(coremem, rss_time, "MB*us", 1, COUNTER, ADD, ALWAYS, "resident memory, added up over CPU time") \
    X(virtmem, vm_time, "MB*us", 1, COUNTER, ADD, ALWAYS, "virtual memory, added up over CPU time") \
    X(read_char, rchar, "B", 1, COUNTER, ADD, CUT, "bytes read by system calls, of each task in whole KiB") \
    X(write_char, wchar, "B", 1, COUNTER, ADD, CUT, "bytes written by system calls, of each task in whole KiB") \
    X(read_syscalls, syscr, "1", 1, COUNTER, ADD, CUT, "read calls, of each task in multiples of 1,024") \
    X(write_syscalls, syscw, "1", 1, COUNTER, ADD, CUT, "write calls, of each task in multiples of 1,024") \
    X(read_bytes, read_bytes, "B", 1, COUNTER, ADD, IO, "bytes fetched from storage") \
    X(write_bytes, write_bytes, "B", 1, COUNTER, ADD, IO, "bytes sent to storage") \
    X(cancelled_write_bytes, cancelled_write_bytes, "B", 1, COUNTER, ADD, IO, \
      "bytes not written because the file was truncated") \
    X(nvcsw, vol_ctxsw, "1", 1, COUNTER, ADD, ALWAYS, "context switches because a task waited") \
    X(nivcsw, invol_ctxsw, "1", 1, COUNTER, ADD, ALWAYS, "context switches because a slice ended") \
    X(ac_utimescaled, user_scaled, "us", 1, COUNTER, ADD, ALWAYS, "user time, scaled by the CPU's frequency") \
    X(ac_stimescaled, system_scaled, "us", 1, COUNTER, ADD, ALWAYS, "system time, scaled by the CPU's frequency") \
    X(cpu_scaled_run_real_total, cpu_scaled, "ns", 1, COUNTER, ADD, ALWAYS, "CPU time, scaled by the CPU's frequency") \
    X(freepages_count, reclaim_waits, "1", 1, COUNTER, ADD, DELAYS, "waits for memory to be reclaimed") \
    X(freepages_delay_total, reclaim_wait, "ns", 1, COUNTER, ADD, DELAYS, "time waiting for memory to be reclaimed") \
    X(hiwater_rss, rss_peak, "B", 1024, GAUGE, LARGER, MARKS, "largest resident memory of one process") \
    X(hiwater_vm, vm_peak, "B", 1024, GAUGE, LARGER, MARKS, "largest virtual memory of one process")

enum taskstats_field {
#define X(field, ...) TASKSTATS_##field,
    TASKSTATS_FIELDS(X)
#undef X
    TASKSTATS_SIZE,
};

/* What one task has used so far, and who it is. */
struct taskstats_usage {
    uint32_t tid, pid, ppid; /* pid, ppid: 0 when the kernel is too old to say */
    uint64_t begin_s;        /* since 1970; may differ by one between two looks at the same task */
    bool process_ended;      /* of an exit record: no thread of the process is left */
    uint64_t known;          /* bit i: value[i] is known */
    uint64_t value[TASKSTATS_SIZE];
};

/* Takes bytes of any version. CORRUPT when they are too few for the version that they claim. */
enum err taskstats_extract(struct bytes stats, const struct taskstats_accounting *accounting,
                           struct taskstats_usage *usage);

/* Adds, or takes the smaller or larger, field by field; what is known of either is known of the sum. */
void taskstats_merge(struct taskstats_usage *sum, const struct taskstats_usage *usage);

/* Takes what was added back out of the sum; what is not added stays. */
void taskstats_subtract(struct taskstats_usage *sum, const struct taskstats_usage *usage);

/* No counter of now is less than it was before. */
void taskstats_clamp_counters(struct taskstats_usage *now, const struct taskstats_usage *before);

#endif
