/* System calls of an unprivileged run, counted by the node's agent. The counts are read while the command runs,
 * since they are lost when the agent ends. An agent started later counts from then on, and the counts of all of them
 * are added up. */
#ifndef SONDE_RUN_AGENT_SYSCALLS_H
#define SONDE_RUN_AGENT_SYSCALLS_H

#include "model/batch.h"

/* Zero-initialised: no agent counts. */
struct agent_syscalls {
    bool is_on;
    bool is_restarted;           /* the next answer comes from an agent that starts at 0 */
    uint64_t last_ns;       /* CLOCK_REALTIME: everything is counted up to here */
    uint64_t restarted_ns;      /* … and again from here on, if is_restarted */
    uint64_t next_ns;       /* CLOCK_MONOTONIC: earliest time of the next request */
    uint64_t calls;         /* total of this agent at the last request */
    uint64_t since_ns;      /* since when it counts, as reported by the agent; 0: no answer yet, or not reported */
    struct batch before;    /* counted by previous agents */
    struct batch totals;      /* that plus the counts of the current agent */
};

/* The agent has started to count. */
void agent_syscalls_begin(struct agent_syscalls *calls);

/* Adds what was counted so far to out, and the periods in which nothing was counted (syscall_way). At most once per
 * second, unless is_last. */
void agent_syscalls_read(struct agent_syscalls *calls, bool is_last, struct batch *out);

/* An agent's answer. */
struct agent_answer {
    uint64_t time_ns, since_ns; /* when it was received, and since when the agent counts (0: not reported) */
    struct batch counts;
};

/* Adds the counts of all agents so far to out. For agent_syscalls_read, and for tests. */
enum err agent_syscalls_add(struct agent_syscalls *calls, const struct agent_answer *answer, struct batch *out);

void agent_syscalls_close(struct agent_syscalls *calls);

#endif
