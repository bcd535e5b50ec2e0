/* The perf events of the command itself: opened in the process that is about to become it, as the probe does for what is executed
 * later. */
#ifndef SONDE_RUN_PERF_COMMAND_H
#define SONDE_RUN_PERF_COMMAND_H

#include "run/perf_counts.h"

struct perf_command {
    const struct perf_event_spec *specs;
    size_t count;
    const char *socket; /* of perf_counts */
    uint64_t time_ns;   /* of the command's spawn record */
};

/* What stands behind the other flags of the probe until perf_command_open puts a pid there. */
#define PERF_COMMAND_FLAG "c0000000000"

/* In the new process: opens events that begin with its exec, sends them, and says so in the flags of this environment. Nothing
 * when that fails: then the probe opens them when the image comes up. */
void perf_command_open(const struct perf_command *command, char *const *environment);

#endif
