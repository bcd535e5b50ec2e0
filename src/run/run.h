/* sonde run: starts a command, watches everything it makes until it ends, and leaves a spool. */
#ifndef SONDE_RUN_RUN_H
#define SONDE_RUN_RUN_H

#include "run/run_syscalls.h"

#include <stdbool.h>
#include <stdint.h>

struct run_settings {
    const char *name;    /* NULL: the command's */
    const char *job_id;  /* NULL: the batch system's, else made from the time and pid */
    const char *tags;    /* "k:v;k:v", may be NULL */
    const char *events;  /* perf events, ',' between; may be NULL */
    uint64_t period_ns;
    const char *out_dir; /* of the spool; NULL: $TMPDIR/sonde-UID/spool/<run> */
    const char *root;    /* of /proc and /sys, for tests; NULL or "" : / */
    bool no_probe;       /* kernel sources only */
    bool mpi;            /* count MPI calls */
    enum run_calls_wish calls; /* system calls */
    bool wants_ptrace;   /* count them by a tracer */
    bool wants_libc;     /* count them in libc's functions, not in the kernel */
    bool apart;          /* its store is its own, also where a sonde run around this one watches the same job */
    bool wait_all;       /* until the last descendant has ended, daemons too */
    char *const *command; /* NULL-terminated */
};

struct run_result {
    bool watched;       /* a spool was written */
    char spool[4096];
    int status;         /* of the command, as from wait4; 127 << 8 or 126 << 8 when it could not be started */
    uint32_t running;   /* descendants still alive */
};

/* Never fails to run the command because of Sonde: what does not work is said on stderr and left out. Returns when the
 * command has ended. */
void run_watch(const struct run_settings *settings, struct run_result *result);

/* When result.running: returns in a child process that goes on watching until they have ended (true), or in the
 * original process (false). The child has no terminal and no standard streams. */
bool run_stay_for_rest(const struct run_result *result);

/* Ends this process as the command ended: the same exit status, or killed by the same signal (without a core file). */
void run_exit_like(int status) __attribute__((noreturn));

#endif
