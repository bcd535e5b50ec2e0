/* Counters of a process or thread: those of papiex, with its names and units, and a bit for each that says whether it is
 * known. The list defines the enum, the descriptions, the columns of the job database and the order in records: append only,
 * never reorder. */
#ifndef SONDE_MODEL_COUNTERS_H
#define SONDE_MODEL_COUNTERS_H

#include "model/metric.h"

#include <stdbool.h>
#include <stdint.h>

#define COUNTERS_LIST(X) \
    X(usertime, COUNTER, "us", "CPU time in user mode") \
    X(systemtime, COUNTER, "us", "CPU time in the kernel") \
    X(rssmax, GAUGE, "KB", "largest resident memory of the process") \
    X(minflt, COUNTER, "1", "page faults without disk access") \
    X(majflt, COUNTER, "1", "page faults with disk access") \
    X(inblock, COUNTER, "1", "512-byte blocks read from disk") \
    X(outblock, COUNTER, "1", "512-byte blocks written to disk") \
    X(vol_ctxsw, COUNTER, "1", "context switches because it waited") \
    X(invol_ctxsw, COUNTER, "1", "context switches because its slice ended") \
    X(cminflt, COUNTER, "1", "minor page faults of children it waited for") \
    X(cmajflt, COUNTER, "1", "major page faults of children it waited for") \
    X(cutime, COUNTER, "us", "user CPU time of children it waited for") \
    X(cstime, COUNTER, "us", "system CPU time of children it waited for") \
    X(num_threads, GAUGE, "1", "threads alive at the end") \
    X(starttime, GAUGE, "us", "start of the task after boot") \
    X(processor, GAUGE, "1", "CPU it last ran on") \
    X(delayacct_blkio_time, COUNTER, "us", "time blocked for disk I/O") \
    X(guest_time, COUNTER, "us", "CPU time as a virtual CPU") \
    X(rchar, COUNTER, "B", "bytes read by system calls") \
    X(wchar, COUNTER, "B", "bytes written by system calls") \
    X(syscr, COUNTER, "1", "read system calls") \
    X(syscw, COUNTER, "1", "write system calls") \
    X(read_bytes, COUNTER, "B", "bytes fetched from storage") \
    X(write_bytes, COUNTER, "B", "bytes sent to storage") \
    X(cancelled_write_bytes, COUNTER, "B", "bytes not written because the file was truncated") \
    X(time_oncpu, COUNTER, "ns", "time on a CPU") \
    X(time_waiting, COUNTER, "ns", "time runnable but waiting for a CPU") \
    X(timeslices, COUNTER, "1", "times it was put on a CPU")

enum counter {
#define X(name, kind, unit, help) COUNTER_##name,
    COUNTERS_LIST(X)
#undef X
    COUNTERS_SIZE,
};

struct counters {
    uint64_t known; /* bit i: value[i] is known */
    uint64_t value[COUNTERS_SIZE];
};

static inline bool counters_has(const struct counters *c, enum counter i)
{
    return c->known >> i & 1;
}

static inline void counters_set(struct counters *c, enum counter i, uint64_t value)
{
    c->known |= 1ull << i;
    c->value[i] = value;
}

static inline void counters_forget(struct counters *c, enum counter i)
{
    c->known &= ~(1ull << i);
}

/* The value, or 0 if unknown: for sums only, never for output. */
static inline uint64_t counters_get(const struct counters *c, enum counter i)
{
    return counters_has(c, i) ? c->value[i] : 0;
}

/* Subtracts part, not below 0. An unknown counter stays unknown. */
static inline void counters_take_off(struct counters *c, enum counter i, uint64_t part)
{
    if (counters_has(c, i))
        c->value[i] -= part < c->value[i] ? part : c->value[i];
}

/* CPU time in us: usertime + systemtime. */
static inline uint64_t counters_cpu_us(const struct counters *c)
{
    return counters_get(c, COUNTER_usertime) + counters_get(c, COUNTER_systemtime);
}

/* Descriptions, in the order of the enum. */
extern const struct metric counters_metrics[COUNTERS_SIZE];

/* Adds counters and takes the maximum of gauges. The result is known if either is. */
void counters_add(struct counters *sum, const struct counters *part);

/* Subtracts counters that are known in both, not below 0. Gauges are unchanged. */
void counters_subtract(struct counters *minuend, const struct counters *subtrahend);

/* Copies from other what is unknown in c. */
void counters_fill(struct counters *c, const struct counters *other);

#endif
