/* sonde run -s: the system calls of the command and of all that it starts, counted in the kernel (syscalls/ebpf.h) or, with
 * --ptrace, by a tracer (syscalls/tracer_launch.h). */
#ifndef SONDE_RUN_RUN_SYSCALLS_H
#define SONDE_RUN_RUN_SYSCALLS_H

#include "syscalls/ebpf.h"
#include "syscalls/tracer_launch.h"
#include "run/agent_syscalls.h"

#define RUN_SYSCALLS_ERROR_MAX 1024

struct job_id;
struct limits;

enum run_syscalls_mode { RUN_SYSCALLS_NONE, RUN_SYSCALLS_COUNT, RUN_SYSCALLS_TIME };

/* Zeroed: nothing is counted. */
struct run_syscalls {
    struct ebpf *syscalls;
    struct ebpf_job *job;
    struct agent_syscalls agent; /* which may do what we may not */
    struct tracer_launch launch; /* without a page: nobody traces */
    bool rights_logged;
    uint64_t next_ns; /* CLOCK_MONOTONIC: not sampled before */
};

/* Before the command is started: what this process starts from now on is counted in the kernel, by us, or by the agent if it
 * may and we may not. Otherwise why says more; AGAIN: the agent does not answer. */
enum err run_syscalls_open(struct run_syscalls *calls, enum run_syscalls_mode wish, const struct job_id *job, const struct limits *limits,
                        char why[RUN_SYSCALLS_ERROR_MAX]);

/* After the command is started, or was not: our other children are not of it. */
void run_syscalls_started(struct run_syscalls *calls);

/* What the tracer came to be, to people. False: nobody counts. */
bool run_syscalls_log_tracer(const struct run_syscalls *calls);

/* By us, by an agent or by a tracer; else programs may do it themselves. */
bool run_syscalls_are_counted(const struct run_syscalls *calls);

/* Adds what was counted so far to out; not more often than once in a second unless it is the last time. */
void run_syscalls_read(struct run_syscalls *calls, bool is_last, struct batch *out);

void run_syscalls_close(struct run_syscalls *calls);

#endif
