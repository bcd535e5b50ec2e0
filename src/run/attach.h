/* sonde attach, from start to end: takes hold of a process that runs, samples what its system calls add up to, lets go, and
 * leaves a spool as sonde run does. */
#ifndef SONDE_RUN_ATTACH_H
#define SONDE_RUN_ATTACH_H

#include "syscalls/syscall_counts.h"
#include "run/attach_pending.h"
#include "run/attach_target.h"

struct attach_settings {
    pid_t pid;
    uint64_t duration_ns; /* 0: until the process ends, or a signal comes */
    uint64_t period_ns;
    bool timed;
    bool wants_ptrace;    /* also where the kernel would count for us */
    bool tells_agent;     /* on a board: attach_segment.h */
    bool shows_progress;  /* a line on stderr that is written again and again */
    const char *name, *job_id, *tags, *out_dir; /* as in struct run_settings; NULL: as there */
};

struct attach_result {
    pid_t pid;        /* of the process, where settings had that of a thread */
    struct syscall_counts counts;
    struct attach_pending pending; /* when it was let go */
    uint64_t watched_ns;
    bool ended;       /* the process has, not the watching of it */
    bool has_status;  /* and it is known how: */
    int status;       /* as from wait4 */
    bool recorded;    /* there is a spool */
    char spool[4096];
};

/* Returns when it is over; signals (SIGINT, SIGTERM, SIGHUP) end it and are blocked from then on. Errors: why has what
 * happened, and what to do. */
enum err attach_watch(const struct attach_settings *settings, struct attach_result *result, struct buf *why);

#endif
