/* perf events of the command itself: opened in the process that is about to exec it, as the probe does for later
 * execs. */
#ifndef SONDE_RUN_PERF_COMMAND_H
#define SONDE_RUN_PERF_COMMAND_H

#include "run/perf_counts.h"

struct perf_command {
    const struct perf_event_spec *specs;
    size_t count;
    const char *socket; /* of perf_counts */
    uint64_t time_ns;   /* of the command's spawn record */
};

/* Placeholder at the end of the probe's flags, until perf_command_open fills in a pid. */
#define PERF_COMMAND_FLAG "c0000000000"

/* In the new process: opens events that start at its exec, sends them, and sets the flag in this environment. On
 * failure does nothing: then the probe opens them when the image starts. */
void perf_command_open(const struct perf_command *command, char *const *environment);

#endif
