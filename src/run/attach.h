/* sonde attach: attaches to a running process, samples its system calls, detaches, and leaves a spool like sonde run
 * does. */
#ifndef SONDE_RUN_ATTACH_H
#define SONDE_RUN_ATTACH_H

#include "syscalls/syscall_counts.h"
#include "run/attach_pending.h"
#include "run/attach_target.h"

struct attach_settings {
    pid_t pid;
    uint64_t duration_ns; /* 0: until the process ends, or a signal arrives */
    uint64_t period_ns;
    bool timed;
    bool wants_ptrace;    /* even if eBPF is available */
    bool publishes;     /* publish the counts in a metrics segment: attach_segment.h */
    bool shows_progress;  /* keep a progress line on stderr */
    bool is_not_recorded; /* there is no spool */
    int ready_fd;         /* gets a byte when the process is being counted; 0: none */
    const char *name, *job_id, *tags, *out_dir; /* as in struct run_settings; NULL: the same defaults */
};

struct attach_result {
    pid_t pid;        /* of the process, if settings had a thread id */
    struct syscall_counts counts;
    struct attach_pending pending; /* when it was released */
    uint64_t monitored_ns;
    bool ended;       /* the process has ended, not only the monitoring */
    bool has_status;  /* and its status is known: */
    int status;       /* as from wait4 */
    bool recorded;    /* there is a spool */
    char spool[4096];
};

/* Returns when monitoring has ended; SIGINT, SIGTERM and SIGHUP end it and stay blocked. On failure, error says what
 * happened and what to do. */
enum err attach_run(const struct attach_settings *settings, struct attach_result *result, struct buf *error);

#endif
