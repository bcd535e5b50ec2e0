/* System calls of a user's run, which the agent of the node counts. It is asked while the command runs, since an agent that ends
 * takes its numbers with it; one that comes after it counts from then on, and what each of them counted is added up. */
#ifndef SONDE_RUN_AGENT_SYSCALLS_H
#define SONDE_RUN_AGENT_SYSCALLS_H

#include "model/batch.h"

/* Zeroed: no agent counts. */
struct agent_calls {
    bool is_on;
    bool is_anew;           /* the next answer is of an agent that begins at 0 */
    uint64_t last_ns;       /* CLOCK_REALTIME: all is counted until here */
    uint64_t begun_ns;      /* … and again from here on, when is_anew */
    uint64_t next_ns;       /* CLOCK_MONOTONIC: not asked before */
    uint64_t calls;         /* of this agent, when it was asked last */
    uint64_t since_ns;      /* from when on it counts, as it says itself; 0: it has not answered, or does not say */
    struct batch before;    /* what the agents before this one have counted */
    struct batch seen;      /* that, and what this one has */
};

/* The agent has begun to count. */
void agent_calls_begin(struct agent_calls *calls);

/* Adds what was counted so far to out, and from when to when nobody counted (syscall_way); not more often than once in a second
 * unless it is the last time. */
void agent_calls_read(struct agent_calls *calls, bool is_last, struct batch *out);

/* An agent's answer. */
struct agent_answer {
    uint64_t time_ns, since_ns; /* of when it is, and from when on it counts; 0: it does not say */
    struct batch counts;
};

/* Adds to out what all have counted so far. For agent_calls_read, and for tests. */
enum err agent_calls_take(struct agent_calls *calls, const struct agent_answer *answer, struct batch *out);

void agent_calls_close(struct agent_calls *calls);

#endif
