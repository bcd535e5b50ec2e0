/* One job in the kernel: the command's. */
#include "run/run_syscalls.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "run/agent_notify.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_NS NS_PER_S

static enum err count_here(struct run_calls *calls, enum run_calls_wish wish, char why[RUN_CALLS_WHY])
{
    enum err err = syscalls_open(&calls->syscalls, wish == RUN_CALLS_TIME ? SYSCALLS_MAY_TIME : 0, why, RUN_CALLS_WHY);
    if (err)
        return err;
    err = syscalls_begin(calls->syscalls, wish == RUN_CALLS_TIME, &calls->job);
    if (!err)
        err = syscalls_expect(calls->job, getpid());
    if (err) {
        snprintf(why, RUN_CALLS_WHY, "the kernel has no room for their numbers: %s", err_text(err));
        run_calls_close(calls);
    }
    return err;
}

enum err run_calls_open(struct run_calls *calls, enum run_calls_wish wish, const struct id *job, const struct limits *limits,
                        char why[RUN_CALLS_WHY])
{
    char agent[RUN_CALLS_WHY] = "";
    if (count_here(calls, wish, why) == OK)
        return OK;
    enum err err = run_tell_begin_counted(job, limits, clock_realtime_ns(), wish == RUN_CALLS_TIME, agent, sizeof agent);
    size_t size = strlen(why);
    if (!err)
        agent_calls_begin(&calls->agent);
    else if (agent[0])
        snprintf(why + size, RUN_CALLS_WHY - size, "; and the agent of this node says: %s", agent);
    return err;
}

void run_calls_started(struct run_calls *calls)
{
    tracer_birth_done(&calls->birth);
    if (calls->job)
        syscalls_expect_no_more(calls->job, getpid());
}

bool run_calls_tell_traced(const struct run_calls *calls)
{
    const struct tracer_birth_page *page = calls->birth.page;
    const struct tracer_cost *cost = &page->cost;
    bool is_filtered = page->state == TRACER_BIRTH_FILTERED;
    if (!is_filtered && page->state != TRACER_BIRTH_PLAIN) {
        log_warn("system calls are not counted: the command could not be traced, and runs without");
        return false;
    }
    log_warn("ptrace is slow: each system call that is counted takes about %s longer%s",
             text_duration(cost->traced_ns > cost->bare_ns ? cost->traced_ns - cost->bare_ns : 0).s,
             geteuid() == 0 ? "" : ", and programs with more rights than their user's (set-uid: sudo, ping) run without them");
    if (!is_filtered)
        log_info("the kernel takes no seccomp filter from us: programs stop at every system call");
    return true;
}

static void read_traced(struct run_calls *calls, struct batch *out)
{
    const struct tracer_birth_page *page = calls->birth.page;
    syscall_counts_sample(&page->counts, clock_realtime_ns(), out);
    if (calls->rights_told || !atomic_load_explicit(&page->rights.is_known, memory_order_acquire))
        return;
    calls->rights_told = true;
    log_warn("%s ran without the rights that it gives (set-uid, set-gid or capabilities): under --ptrace nobody gains any",
             page->rights.path);
}

bool run_calls_are_counted(const struct run_calls *calls)
{
    return calls->job || calls->birth.page || calls->agent.is_on;
}

void run_calls_read(struct run_calls *calls, bool is_last, struct batch *out)
{
    uint64_t now_ns = clock_monotonic_ns();
    agent_calls_read(&calls->agent, is_last, out);
    if ((!calls->job && !calls->birth.page) || (!is_last && now_ns < calls->next_ns))
        return;
    calls->next_ns = now_ns + PAUSE_NS - PAUSE_NS / 10; /* ticks of a second are not that exact */
    if (calls->birth.page)
        read_traced(calls, out);
    else
        syscalls_read(calls->job, NULL, out);
}

void run_calls_close(struct run_calls *calls)
{
    syscalls_close(&calls->syscalls); /* with the job */
    calls->job = NULL;
    tracer_birth_close(&calls->birth);
    agent_calls_close(&calls->agent);
}
