/* Counts the system calls of one job: the command's. */
#include "run/run_syscalls.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "run/agent_notify.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_NS NS_PER_S

static enum err count_here(struct run_syscalls *calls, enum run_syscalls_mode mode, char error[RUN_SYSCALLS_ERROR_MAX])
{
    enum err err = ebpf_open(&calls->syscalls, mode == RUN_SYSCALLS_TIME ? EBPF_MAY_TIME : 0, error,
                             RUN_SYSCALLS_ERROR_MAX);
    if (err)
        return err;
    err = ebpf_job_begin(calls->syscalls, mode == RUN_SYSCALLS_TIME, &calls->job);
    if (!err)
        err = ebpf_job_add_at_exec(calls->job, getpid());
    if (err) {
        snprintf(error, RUN_SYSCALLS_ERROR_MAX, "cannot allocate the counters in the kernel: %s", err_text(err));
        run_syscalls_close(calls);
    }
    return err;
}

enum err run_syscalls_open(struct run_syscalls *calls, enum run_syscalls_mode mode, const struct job_id *job,
                           const struct limits *limits,
                           char error[RUN_SYSCALLS_ERROR_MAX])
{
    char agent[RUN_SYSCALLS_ERROR_MAX] = "";
    if (count_here(calls, mode, error) == OK)
        return OK;
    enum err err = agent_notify_begin_counted(job, limits, clock_realtime_ns(), mode == RUN_SYSCALLS_TIME, agent,
                                              sizeof agent);
    size_t size = strlen(error);
    if (!err)
        agent_syscalls_begin(&calls->agent);
    else if (agent[0])
        snprintf(error + size, RUN_SYSCALLS_ERROR_MAX - size, "; and the agent of this node: %s", agent);
    return err;
}

void run_syscalls_started(struct run_syscalls *calls)
{
    tracer_launch_done(&calls->launch);
    if (calls->job)
        ebpf_job_remove_at_exec(calls->job, getpid());
}

bool run_syscalls_log_tracer(const struct run_syscalls *calls)
{
    const struct tracer_launch_page *page = calls->launch.page;
    const struct tracer_cost *cost = &page->cost;
    bool is_filtered = page->state == TRACER_LAUNCH_FILTERED;
    if (!is_filtered && page->state != TRACER_LAUNCH_UNFILTERED) {
        log_warn("system calls are not counted: the command could not be traced");
        return false;
    }
    log_warn("ptrace is slow: each counted system call takes about %s longer%s",
             format_duration(cost->traced_ns > cost->bare_ns ? cost->traced_ns - cost->bare_ns : 0).s,
             geteuid() == 0 ? "" : ", and set-uid programs (sudo, ping) run without their privileges");
    if (!is_filtered)
        log_info("the kernel accepts no seccomp filter: programs stop at every system call");
    return true;
}

static void read_traced(struct run_syscalls *calls, struct batch *out)
{
    const struct tracer_launch_page *page = calls->launch.page;
    syscall_counts_sample(&page->counts, clock_realtime_ns(), out);
    if (calls->rights_logged || !atomic_load_explicit(&page->privileges.is_known, memory_order_acquire))
        return;
    calls->rights_logged = true;
    log_warn("%s ran without its privileges (set-uid, set-gid or capabilities): programs traced with --ptrace gain none",
             page->privileges.path);
}

bool run_syscalls_are_counted(const struct run_syscalls *calls)
{
    return calls->job || calls->launch.page || calls->agent.is_on;
}

void run_syscalls_read(struct run_syscalls *calls, bool is_last, struct batch *out)
{
    uint64_t now_ns = clock_monotonic_ns();
    agent_syscalls_read(&calls->agent, is_last, out);
    if ((!calls->job && !calls->launch.page) || (!is_last && now_ns < calls->next_ns))
        return;
    calls->next_ns = now_ns + PAUSE_NS - PAUSE_NS / 10; /* timer ticks are not exactly one second apart */
    if (calls->launch.page)
        read_traced(calls, out);
    else
        ebpf_job_read(calls->job, NULL, out);
}

void run_syscalls_close(struct run_syscalls *calls)
{
    ebpf_close(&calls->syscalls); /* also closes the job */
    calls->job = NULL;
    tracer_launch_close(&calls->launch);
    agent_syscalls_close(&calls->agent);
}
