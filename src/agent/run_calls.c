/* One job in the kernel: the command's. */
#include "agent/run_calls.h"

#include "agent/run_tell.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

#define PAUSE_NS NS_PER_S

enum err run_calls_open(struct run_calls *calls, enum run_calls_wish wish, char *why, size_t why_size)
{
    enum err err = syscalls_open(&calls->syscalls, why, why_size);
    if (err)
        return err;
    err = syscalls_begin(calls->syscalls, wish == RUN_CALLS_TIME, &calls->job);
    if (!err)
        err = syscalls_expect(calls->job, getpid());
    if (err) {
        snprintf(why, why_size, "the kernel has no room for their numbers: %s", err_text(err));
        run_calls_close(calls);
    }
    return err;
}

void run_calls_started(struct run_calls *calls)
{
    if (calls->job)
        syscalls_expect_no_more(calls->job, getpid());
}

void run_calls_read(struct run_calls *calls, bool is_last, struct batch *out)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (calls->by_agent && is_last && run_tell_read_counts(out))
        log_warn("the agent does not tell what system calls it has counted");
    if (!calls->job || (!is_last && now_ns < calls->next_ns))
        return;
    calls->next_ns = now_ns + PAUSE_NS - PAUSE_NS / 10; /* ticks of a second are not that exact */
    syscalls_read(calls->job, NULL, out);
}

void run_calls_close(struct run_calls *calls)
{
    syscalls_end(&calls->job);
    syscalls_close(&calls->syscalls);
    calls->by_agent = false;
}
