/* sonde run -s: counts the system calls of the command and its descendants with eBPF (syscalls/ebpf.h) or, with
 * --ptrace, with a tracer (syscalls/tracer_launch.h). */
#ifndef SONDE_RUN_RUN_SYSCALLS_H
#define SONDE_RUN_RUN_SYSCALLS_H

#include "syscalls/ebpf.h"
#include "syscalls/tracer_launch.h"
#include "run/agent_syscalls.h"

#define RUN_SYSCALLS_ERROR_MAX 1024

struct job_id;
struct limits;

enum run_syscalls_mode { RUN_SYSCALLS_NONE, RUN_SYSCALLS_COUNT, RUN_SYSCALLS_TIME };

/* Zero-initialised: nothing is counted. */
struct run_syscalls {
    struct ebpf *syscalls;
    struct ebpf_job *job;
    struct agent_syscalls agent; /* counts if we lack the privileges */
    struct tracer_launch launch; /* without a page: not traced */
    bool rights_logged;
    uint64_t next_ns; /* CLOCK_MONOTONIC: time of the next sample */
};

/* Call before the command is started: children of this process are counted from now on, by us, or by the agent if we
 * lack the privileges. On failure error has the reason; AGAIN: the agent does not respond. */
enum err run_syscalls_open(struct run_syscalls *calls, enum run_syscalls_mode mode, const struct job_id *job,
                           const struct limits *limits,
                        char error[RUN_SYSCALLS_ERROR_MAX]);

/* Call after the command was started, or failed to: our other children do not belong to it. */
void run_syscalls_started(struct run_syscalls *calls);

/* Logs the outcome of tracing. False: nothing is counted. */
bool run_syscalls_log_tracer(const struct run_syscalls *calls);

/* By us, by the agent or by a tracer; otherwise programs may count themselves. */
bool run_syscalls_are_counted(const struct run_syscalls *calls);

/* Adds the counts so far to out; at most once per second, unless is_last. */
void run_syscalls_read(struct run_syscalls *calls, bool is_last, struct batch *out);

void run_syscalls_close(struct run_syscalls *calls);

#endif
