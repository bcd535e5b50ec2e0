/* Starting the command as if sonde run were not there, save for the probe in its environment. */
#ifndef SONDE_RUN_LAUNCH_H
#define SONDE_RUN_LAUNCH_H

#include "syscalls/tracer_launch.h"
#include "run/perf_command.h"
#include "run/signals.h"

#include <sys/resource.h>

#define LAUNCH_EXTRA_LIBRARIES 2 /* places for them: the MPI probe, that of system calls */

/* What the command's environment gets. NULL: left as it is. */
struct launch_probe {
    const char *library, *spool;
    const char *also[LAUNCH_EXTRA_LIBRARIES];  /* more libraries; NULL or empty: none */
    const char *flags;          /* PROBE_FLAG_… letters */
    const char *segments;         /* folder for boards of programs; NULL: none */
    const char *calls;          /* "time": what the probe of system calls measures; NULL: counts alone */
    const char *events, *socket; /* perf; NULL: none */
};

/* Limits of the command that are not ours: given back to it as they were. */
struct launch_limits {
    struct rlimit files, file_size; /* RLIMIT_NOFILE, RLIMIT_FSIZE */
    bool files_known, file_size_known;
};

/* We need some descriptors, and one per event and thread; and the store of many jobs is larger than what one of them may write:
 * as much as we may have. */
void launch_raise_limits(struct launch_limits *raised);

struct launch {
    char *const *command;             /* NULL-terminated */
    const struct launch_probe *probe; /* NULL: none */
    const struct signals *signals;    /* to be given back to the command as they were; NULL: never changed */
    const struct launch_limits *limits; /* likewise */
    const struct tracer_launch *tracer_launch; /* it is to be traced; NULL: no */
    const struct perf_command *perf;  /* its perf events; NULL: none */
};

/* Forks and execs. OK: *pid runs the command. ABSENT: there is no such command; DENIED: it may not or cannot be run; in
 * both cases *error is the errno. AGAIN: no process could be made. */
enum err launch_start(const struct launch *launch, pid_t *pid, int *error);

/* The last resort: this process becomes the command, unwatched. Returns only when that fails, with its errno. */
void launch_exec_in_place(const struct launch *launch, int *error);

/* The exit status by which shells tell why a command could not be run: 127 not found, 126 anything else. */
int launch_status(int error);

/* The environment for the probe: base with the variables set or, where they would mislead, taken out. The caller frees
 * the array (not what it points to) and *texts. NULL when memory ran out. Visible for tests. */
char **launch_environment(char *const *base, const struct launch_probe *probe, char **texts);

#endif
