/* What the files of one process say: /proc/PID/io, status and smaps_rollup, of all its threads together. Kept open while
 * there are descriptors: then a new process with an old pid cannot be taken for it. */
#ifndef SONDE_SAMPLERS_JOBS_PROCESS_FILES_H
#define SONDE_SAMPLERS_JOBS_PROCESS_FILES_H

#include "samplers/jobs/cgroup_mounts.h"

/* X(the file, its key, ours, unit, factor, kind, the name that Colmet has for it, or NULL, help) */
#define PROCESS_FIELDS(X) \
    X(IO, "rchar:", rchar, "B", 1, COUNTER, NULL, "bytes read by system calls, also of children that were waited for") \
    X(IO, "wchar:", wchar, "B", 1, COUNTER, NULL, "bytes written by system calls, also of children that were waited for") \
    X(IO, "syscr:", syscr, "1", 1, COUNTER, NULL, "read system calls") \
    X(IO, "syscw:", syscw, "1", 1, COUNTER, NULL, "write system calls") \
    X(IO, "read_bytes:", read_bytes, "B", 1, COUNTER, NULL, "bytes fetched from storage") \
    X(IO, "write_bytes:", write_bytes, "B", 1, COUNTER, NULL, "bytes sent to storage") \
    X(IO, "cancelled_write_bytes:", cancelled_write_bytes, "B", 1, COUNTER, NULL, \
      "bytes not written because the file was truncated") \
    X(STATUS, "VmSize:", vm, "B", 1024, GAUGE, "VmSize", "virtual memory") \
    X(STATUS, "VmRSS:", rss, "B", 1024, GAUGE, "VmRSS", "resident memory; what processes share counts for each") \
    X(STATUS, "RssFile:", rss_file, "B", 1024, GAUGE, "RssFile", "resident memory that is of files") \
    X(STATUS, "RssShmem:", rss_shared, "B", 1024, GAUGE, "RssShmem", "resident memory that is shared") \
    X(STATUS, "VmSwap:", swap, "B", 1024, GAUGE, "VmSwap", "memory that is swapped out") \
    X(STATUS, "Threads:", threads, "1", 1, GAUGE, NULL, "threads that live") \
    X(SMAPS, "Pss:", pss, "B", 1024, GAUGE, "Pss", "resident memory; what processes share is shared out to them")

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
    uint32_t ppid; /* 0: not known */
    char state;    /* R, S, Z, …; 0: not known */
};

/* The descriptors of one process; -1: not kept. */
struct process_files {
    int io_fd, status_fd, smaps_fd;
};

void process_files_init(struct process_files *files);
void process_files_release(struct process_files *files, struct cgroup_mounts *groups);

/* Reads what it can. GONE: the process is. A file that this user may not read leaves its values unknown. */
enum err process_files_read(struct process_files *files, struct cgroup_mounts *groups, uint32_t pid, bool with_pss,
                            struct process_values *values);

/* Takes from one file's text what is known of it, by name. Takes any text. */
void process_files_parse(const char *text, struct process_values *values);

#endif
