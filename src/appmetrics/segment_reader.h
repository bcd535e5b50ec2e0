/* Reads a board (appmetrics/segment_format.h) from outside: the numbers of a program, summed over its threads, for
 * the agent and sonde run. The program may have written anything: nothing in the file is trusted, and it is never
 * mapped. What a reader takes is bounded by the file's size, 256 MiB at most. */
#ifndef SONDE_APPMETRICS_SEGMENT_READER_H
#define SONDE_APPMETRICS_SEGMENT_READER_H

#include "base/buf.h"
#include "appmetrics/segment_format.h"

#include <sys/types.h>

/* What the header says, as of the last reading. Texts are cut at their first NUL, and else any bytes. */
struct segment_info {
    pid_t pid;            /* as the program sees itself */
    pid_t parent_pid;     /* likewise; 0: not known */
    uint32_t uid, gid;    /* who owns the file: the kernel says so */
    uint64_t device, inode; /* of the file */
    uint64_t pid_space, start_ticks, exe_device, exe_inode; /* as in struct segment_header; 0: not known */
    uint64_t realtime_ns; /* when the board was made */
    uint64_t lost;        /* metrics and chunks that found no room */
    uint64_t bytes;       /* of memory that it takes */
    int32_t rank, size;   /* -1: none */
    uint64_t program, ended_ns; /* as in struct segment_header */
    uint32_t world;
    bool is_ended;        /* the program said so itself */
    pid_t subject_pid;    /* whose numbers they are, where the owner may say so: of another process, and its user. Else 0 */
    uint32_t subject_uid;
    char library[32], job[128], command[512];
};

/* One metric. Texts and arrays are the reader's, until it is read again or closed. */
struct segment_value {
    struct bytes name, labels, unit, help;
    enum segment_metric_kind kind;
    enum segment_value_type type;
    bool is_known;         /* false: a gauge that was never set */
    bool is_integer;       /* then u64 is exact; f64 is always there. Ticks are seconds, no integer */
    uint64_t u64;
    double f64;            /* counter, gauge; of a histogram the sum */
    uint64_t count;        /* of a histogram: how many */
    size_t bound_count;
    const double *bounds;
    const uint64_t *buckets; /* bound_count + 1; how many each, not cumulative */
};

struct segment_reader;

/* ABSENT, DENIED, IO: it cannot be opened; CORRUPT: it is no board, or of another version. A board that is being made is
 * AGAIN. Links are not followed. */
enum err segment_reader_open(struct segment_reader **reader, const char *path);
void segment_reader_close(struct segment_reader **reader);

/* Looks again: facts, metrics that are new, and all values. CORRUPT: from here on nothing new is believed, and what was read
 * before stays. */
enum err segment_reader_read(struct segment_reader *reader);

const struct segment_info *segment_reader_info(const struct segment_reader *reader);
size_t segment_reader_count(const struct segment_reader *reader); /* metrics; their places never change */
void segment_reader_value(const struct segment_reader *reader, size_t place, struct segment_value *value);

/* Will nobody write any more? True when no process has the file mapped, which the kernel knows, or when the process is
 * gone, has become another by exec, or another has its pid. Read once more after it. root: "" or NULL, this machine. */
bool segment_reader_is_finished(const struct segment_reader *reader, const char *root);

/* Are its pids those that root's /proc shows, and not those of another pid namespace? */
bool segment_reader_is_local(const struct segment_reader *reader, const char *root);

#endif
