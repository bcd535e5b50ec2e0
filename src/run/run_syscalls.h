/* sonde run -s: the system calls of the command and of all that it starts, counted in the kernel (syscalls/syscalls.h) or, with
 * --ptrace, by a tracer (syscalls/tracer_launch.h). */
#ifndef SONDE_RUN_RUN_SYSCALLS_H
#define SONDE_RUN_RUN_SYSCALLS_H

#include "syscalls/syscalls.h"
#include "syscalls/tracer_launch.h"
#include "run/agent_syscalls.h"

#define RUN_CALLS_WHY 1024

struct id;
struct limits;

enum run_calls_wish { RUN_CALLS_NONE, RUN_CALLS_COUNT, RUN_CALLS_TIME };

/* Zeroed: nothing is counted. */
struct run_calls {
    struct syscalls *syscalls;
    struct syscalls_job *job;
    struct agent_calls agent; /* which may do what we may not */
    struct tracer_birth birth; /* without a page: nobody traces */
    bool rights_told;
    uint64_t next_ns; /* CLOCK_MONOTONIC: not sampled before */
};

/* Before the command is started: what this process starts from now on is counted in the kernel, by us, or by the agent if it
 * may and we may not. Otherwise why says more; AGAIN: the agent does not answer. */
enum err run_calls_open(struct run_calls *calls, enum run_calls_wish wish, const struct id *job, const struct limits *limits,
                        char why[RUN_CALLS_WHY]);

/* After the command is started, or was not: our other children are not of it. */
void run_calls_started(struct run_calls *calls);

/* What the tracer came to be, to people. False: nobody counts. */
bool run_calls_tell_traced(const struct run_calls *calls);

/* By us, by an agent or by a tracer; else programs may do it themselves. */
bool run_calls_are_counted(const struct run_calls *calls);

/* Adds what was counted so far to out; not more often than once in a second unless it is the last time. */
void run_calls_read(struct run_calls *calls, bool is_last, struct batch *out);

void run_calls_close(struct run_calls *calls);

#endif
