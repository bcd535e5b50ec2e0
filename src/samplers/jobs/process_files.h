/* The files of one process: /proc/PID/io, status and smaps_rollup, which cover all its threads. Kept open up to a
 * limit: then a new process with the same pid cannot be mistaken for it. */
#ifndef SONDE_SAMPLERS_JOBS_PROCESS_FILES_H
#define SONDE_SAMPLERS_JOBS_PROCESS_FILES_H

#include "samplers/jobs/cgroup_mounts.h"

/* X(file, key, metric, unit, factor, kind, Colmet's name or NULL, help) */
#define PROCESS_FIELDS(X) \
    X(IO, "rchar:", rchar, "B", 1, COUNTER, NULL, "bytes read by system calls, including waited-for children") \
    X(IO, "wchar:", wchar, "B", 1, COUNTER, NULL, "bytes written by system calls, including waited-for children") \
    X(IO, "syscr:", syscr, "1", 1, COUNTER, NULL, "read system calls") \
    X(IO, "syscw:", syscw, "1", 1, COUNTER, NULL, "write system calls") \
    X(IO, "read_bytes:", read_bytes, "B", 1, COUNTER, NULL, "bytes fetched from storage") \
    X(IO, "write_bytes:", write_bytes, "B", 1, COUNTER, NULL, "bytes sent to storage") \
    X(IO, "cancelled_write_bytes:", cancelled_write_bytes, "B", 1, COUNTER, NULL, \
      "bytes not written because the file was truncated") \
    X(STATUS, "VmSize:", vm, "B", 1024, GAUGE, "VmSize", "virtual memory") \
    X(STATUS, "VmRSS:", rss, "B", 1024, GAUGE, "VmRSS", "resident memory; shared pages count for each process") \
    X(STATUS, "RssFile:", rss_file, "B", 1024, GAUGE, "RssFile", "resident file-backed memory") \
    X(STATUS, "RssShmem:", rss_shared, "B", 1024, GAUGE, "RssShmem", "resident shared memory") \
    X(STATUS, "VmSwap:", swap, "B", 1024, GAUGE, "VmSwap", "swapped-out memory") \
    X(STATUS, "Threads:", threads, "1", 1, GAUGE, NULL, "live threads") \
    X(SMAPS, "Pss:", pss, "B", 1024, GAUGE, "Pss", "proportional set size: shared pages are divided among their processes")

enum process_field {
#define X(file, key, name, ...) PROCESS_##name,
    PROCESS_FIELDS(X)
#undef X
    PROCESS_FIELDS_SIZE,
    PROCESS_IO_FIELDS = PROCESS_cancelled_write_bytes + 1,
};

struct process_values {
    uint64_t known; /* bit i: value[i] is known */
    uint64_t value[PROCESS_FIELDS_SIZE];
    uint32_t ppid; /* 0: unknown */
    char state;    /* R, S, Z, …; 0: unknown */
};

/* The descriptors of one process; -1: not kept open. */
struct process_files {
    int io_fd, status_fd, smaps_fd;
};

void process_files_init(struct process_files *files);
void process_files_release(struct process_files *files, struct cgroup_mounts *mounts);

/* Reads what it can. GONE: the process has exited. Values of a file that this user may not read stay unknown. */
enum err process_files_read(struct process_files *files, struct cgroup_mounts *mounts, uint32_t pid, bool with_pss,
                            struct process_values *values);

/* Sets the values found in the text of one file. Accepts any text. */
void process_files_parse(const char *text, struct process_values *values);

#endif
