/* Starts the command as if sonde run did not exist, except for the probe in its environment. */
#ifndef SONDE_RUN_LAUNCH_H
#define SONDE_RUN_LAUNCH_H

#include "syscalls/tracer_launch.h"
#include "run/perf_command.h"
#include "run/signals.h"

#include <sys/resource.h>

#define LAUNCH_EXTRA_LIBRARIES 2 /* the MPI probe and the system call probe */

/* What is added to the command's environment. NULL: unchanged. */
struct launch_probe {
    const char *library, *spool;
    const char *extra[LAUNCH_EXTRA_LIBRARIES];  /* further libraries; NULL or empty: none */
    const char *flags;          /* PROBE_FLAG_… letters */
    const char *segments;         /* directory for metrics segments; NULL: none */
    const char *calls;          /* "time": the system call probe also measures time; NULL: counts only */
    const char *events, *socket; /* perf; NULL: none */
};

/* Limits that we have changed and that the command gets back unchanged. */
struct launch_limits {
    struct rlimit files, file_size; /* RLIMIT_NOFILE, RLIMIT_FSIZE */
    bool files_known, file_size_known;
};

/* Raises our limits to the maximum: we need one descriptor per event and thread, and the job database may be larger
 * than the file size that the command may write. */
void launch_raise_limits(struct launch_limits *raised);

struct launch {
    char *const *command;             /* NULL-terminated */
    const char *file;                 /* the executable; NULL: command[0], which is searched for in PATH */
    const struct launch_probe *probe; /* NULL: none */
    const struct signals *signals;    /* restored for the command; NULL: never changed */
    const struct launch_limits *limits; /* likewise */
    const struct tracer_launch *tracer_launch; /* for tracing the command; NULL: no */
    const struct perf_command *perf;  /* perf events of the command; NULL: none */
    void (*before_exec)(void *context); /* in the new process; without a probe it may change the environment. NULL: none */
    void *context;
};

/* Forks and execs. OK: *pid runs the command. ABSENT: no such command; DENIED: it cannot be executed; in both cases
 * *error is the errno. AGAIN: no process could be created. */
enum err launch_start(const struct launch *launch, pid_t *pid, int *error);

/* The last resort: replaces this process by the command, without monitoring. Returns only if that fails, with its
 * errno. */
void launch_exec_in_place(const struct launch *launch, int *error);

/* The exit status of shells for a command that cannot be run: 127 not found, 126 anything else. */
int launch_status(int error);

/* The environment with the probe: base with our variables set, or removed where they would be wrong. The caller
 * frees the array (not its elements) and *texts. NULL: out of memory. Exported for tests. */
char **launch_environment(char *const *base, const struct launch_probe *probe, char **strings);

#endif
