/* The kernel's files of one process or thread: /proc/PID/stat, io, status. Parsers, and readers relative to a directory
 * descriptor of /proc. */
#ifndef SONDE_PROC_TASKFILE_H
#define SONDE_PROC_TASKFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taskfile_stat {
    char state; /* R, S, D, Z, … */
    bool is_exiting; /* exiting or a zombie: of the thread with this id */
    uint32_t ppid;
    uint64_t own_ticks;      /* CPU time of all its threads, including exited ones */
    uint64_t children_ticks; /* CPU time of children that it waited for, and theirs */
    uint32_t threads;
    uint64_t start_ticks; /* since boot; distinguishes processes with the same pid */
    uint64_t rss_pages;
};

struct taskfile_io {
    uint64_t rchar, wchar, read_bytes, write_bytes;
};

struct taskfile_switches {
    uint64_t voluntary, involuntary;
};

/* CORRUPT: malformed. They accept any NUL-terminated text. */
enum err taskfile_parse_stat(const char *text, struct taskfile_stat *stat);
enum err taskfile_parse_io(const char *text, struct taskfile_io *io);
enum err taskfile_parse_switches(const char *text, struct taskfile_switches *switches);
enum err taskfile_parse_pss(const char *text, uint64_t *bytes);

/* path: relative to /proc, "27013/stat". GONE: the process has exited; DENIED. */
enum err taskfile_read(int proc_fd, const char *path, char *text, size_t size);

enum err taskfile_read_stat(int proc_fd, uint32_t pid, struct taskfile_stat *stat);

/* Of the process with all its threads and the children that it waited for. */
enum err taskfile_read_io(int proc_fd, uint32_t pid, struct taskfile_io *io);

/* Resident memory in which a page shared by n processes counts 1/n. The kernel visits each page: about 10 ms per GB. DENIED:
 * the process belongs to another user, or has more privileges. */
enum err taskfile_read_pss(int proc_fd, uint32_t pid, uint64_t *bytes);

/* Of one thread. */
enum err taskfile_read_thread_io(int proc_fd, uint32_t pid, uint32_t tid, struct taskfile_io *io);
enum err taskfile_read_switches(int proc_fd, uint32_t pid, uint32_t tid, struct taskfile_switches *switches);

#endif
