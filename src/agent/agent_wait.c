/* From the schedule's next tick to a sleep that ends there. */
#include "agent/agent.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel lets epoll sleep a thousandth longer than asked, 1 ms of a second, so that several may wake at once. Asked for so
 * much less, it wakes to the point; where something else wakes the CPU just before, early, and sleeps the rest. */
static uint64_t without_slack(uint64_t left_ns)
{
    return left_ns - left_ns / 1001;
}

static uint64_t until_tick_ns(const struct agent *agent)
{
    uint64_t real_ns = clock_realtime_ns(), next_ns = schedule_next_ns(&agent->schedule);
    return next_ns > real_ns ? without_slack(next_ns - real_ns) : 0;
}

/* Before Linux 5.11 only whole milliseconds: then a timer tells of ticks. */
int agent_wait(struct agent *agent, struct epoll_event *events, uint64_t most_ns)
{
#ifdef SYS_epoll_pwait2
    if (agent->ticks_by_sleep) {
        uint64_t tick_ns = until_tick_ns(agent), left_ns = tick_ns < most_ns ? tick_ns : most_ns;
        struct timespec left = { (time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S) };
        long count = syscall(SYS_epoll_pwait2, agent->epoll_fd, events, AGENT_SOURCE_COUNT, &left, NULL, 0);
        if (count >= 0 || (errno != ENOSYS && errno != EPERM))
            return (int)count;
    }
#endif
    agent->ticks_by_sleep = agent->schedule.only_sets = false;
    schedule_arm(&agent->schedule);
    return epoll_wait(agent->epoll_fd, events, AGENT_SOURCE_COUNT, (int)(most_ns / NS_PER_MS) + 1);
}
