/* Reads a metrics segment (segment_format.h) from outside the program: its metrics, summed over threads. For the agent
 * and sonde run. The program may have written anything: nothing in the file is trusted, and it is never mapped. The
 * caller limits its memory. */
#ifndef SONDE_APPMETRICS_SEGMENT_READER_H
#define SONDE_APPMETRICS_SEGMENT_READER_H

#include "base/buf.h"
#include "appmetrics/segment_format.h"

#include <sys/types.h>

/* The header at the last reading; fields as in struct segment_header. Strings are cut at their first NUL, and may have
 * any bytes. */
struct segment_info {
    pid_t pid, parent_pid;
    uint32_t uid, gid;      /* owner of the file, from the kernel */
    uint64_t device, inode; /* identity of the file */
    uint64_t pid_space, start_ticks, exe_device, exe_inode;
    uint64_t realtime_ns;
    uint64_t lost;
    uint64_t bytes;         /* memory used by the file */
    int32_t rank, size;     /* -1: none */
    uint64_t program, ended_ns;
    uint32_t world;
    bool is_ended;          /* by the program's own account */
    pid_t subject_pid;      /* 0 if the owner may not report for that process */
    uint32_t subject_uid;
    char library[32], job[128], command[512];
};

/* One metric. Strings and arrays belong to the reader, until it reads again or is closed. */
struct segment_value {
    struct bytes name, labels, unit, help;
    enum segment_metric_kind kind;
    enum segment_value_type type;
    bool is_known;         /* false: a gauge that is not set */
    bool is_integer;       /* u64 is exact; f64 is always there. Ticks are seconds, and no integer */
    uint64_t u64;
    double f64;            /* histogram: sum of the observations */
    uint64_t count;        /* histogram: number of observations */
    size_t bound_count;
    const double *bounds;
    const uint64_t *buckets; /* bound_count + 1, not cumulative */
};

struct segment_reader;

/* ABSENT, DENIED, IO: it cannot be opened; CORRUPT: it is no segment, or of another version; AGAIN: it is just being
 * created. Links are not followed. */
enum err segment_reader_open(struct segment_reader **reader, const char *path);
void segment_reader_close(struct segment_reader **reader);

/* Reads header, new metrics and all values. CORRUPT: nothing new is accepted from here on; what was read before stays.
 * FULL: some metrics, or values of threads, were left out because of the limit. */
enum err segment_reader_read(struct segment_reader *reader);

/* What it holds in memory or reads at each time, and the limit for that, which is none at first. */
uint64_t segment_reader_bytes(const struct segment_reader *reader);
void segment_reader_limit(struct segment_reader *reader, uint64_t bytes);
int segment_reader_fd(const struct segment_reader *reader);

const struct segment_info *segment_reader_info(const struct segment_reader *reader);
size_t segment_reader_count(const struct segment_reader *reader); /* number of metrics; their indices never change */
void segment_reader_value(const struct segment_reader *reader, size_t index, struct segment_value *value);

/* Will nobody write to it any more? True if no process has it mapped, which the kernel knows, or if the process has
 * ended, has called exec, or its pid was reused. Read once more after that. root: directory that contains /proc; "" or
 * NULL: this node. */
bool segment_reader_is_finished(const struct segment_reader *reader, const char *root);

/* Are its pids of the pid namespace of root's /proc? */
bool segment_reader_is_local(const struct segment_reader *reader, const char *root);

#endif
