/* sonde run: starts a command, monitors it and all its descendants until they end, and leaves a spool. */
#ifndef SONDE_RUN_RUN_H
#define SONDE_RUN_RUN_H

#include "run/run_syscalls.h"

#include <stdbool.h>
#include <stdint.h>

struct run_settings {
    const char *name;    /* NULL: the command's */
    const char *job_id;  /* NULL: the batch system's, else generated from time and pid */
    const char *tags;    /* "k:v;k:v", may be NULL */
    const char *events;  /* perf events, comma-separated; may be NULL */
    uint64_t period_ns;
    const char *out_dir; /* of the spool; NULL: $TMPDIR/sonde-UID/spool/<run> */
    const char *root;    /* prefix of /proc and /sys, for tests; NULL or "": / */
    bool no_probe;       /* kernel data only */
    bool mpi;            /* count MPI calls */
    enum run_syscalls_mode calls; /* count system calls */
    bool wants_ptrace;   /* … with ptrace */
    bool wants_libc;     /* … in libc's functions, not in the kernel */
    bool separately;          /* record it separately, even if an enclosing sonde run records the same job */
    bool wait_all;       /* until the last descendant has ended, including daemons */
    char *const *command; /* NULL-terminated */
};

struct run_result {
    bool is_recorded;       /* a spool was written */
    char spool[4096];
    int status;         /* of the command, as from wait4; 127 << 8 or 126 << 8 if it could not be started */
    uint32_t running;   /* descendants still alive */
};

/* Runs the command, whatever fails in Sonde: failures are logged, and the data is missing. Returns when the command
 * has ended. */
void run_command(const struct run_settings *settings, struct run_result *result);

/* If result.running: returns true in a child process that has monitored them until they ended, and false in the
 * original process. The child has no terminal and no standard streams. */
bool run_monitor_survivors(const struct run_result *result);

/* Ends this process as the command ended: with the same exit status, or killed by the same signal (without a core
 * file). */
void run_exit_like(int status) __attribute__((noreturn));

#endif
