/* A sampler whose readings may take longer than a tick, in a thread of its own. The loop asks for a reading and goes on; the
 * thread says over a descriptor that there is one, and touches nothing of it until the loop has given it back. */
#ifndef SONDE_AGENT_SAMPLER_THREAD_H
#define SONDE_AGENT_SAMPLER_THREAD_H

#include "agent/plan.h"

struct slow;

struct slow_facts {
    bool is_open, is_absent, is_busy;
    enum err last;
    uint64_t failures;
    uint64_t skipped;  /* ticks at which the reading of an earlier one was still going on */
    uint64_t openings; /* the sets of samples may stand at other addresses after each */
};

/* Opens nothing yet: that is the thread's work too, at the first tick. event_fd (an eventfd) is written to whenever there
 * is something to take. Copies settings; borrows the rest for ever, even when the thread cannot be ended. */
enum err slow_start(struct slow **slow, const struct sampler *sampler, const struct sampler_context *context,
                    const struct setting_list *settings, uint64_t look_again_ns, int event_fd);

void slow_tick(struct slow *slow);
void slow_job(struct slow *slow, const struct job *job, enum job_event event);

/* What was read, or NULL. The thread waits until slow_give_back. */
const struct batch *slow_take(struct slow *slow);
void slow_give_back(struct slow *slow);

void slow_look(struct slow *slow, struct slow_facts *facts);

/* Waits until nothing is going on; false at the deadline (CLOCK_MONOTONIC). What was read may be taken then. */
bool slow_wait(struct slow *slow, uint64_t deadline_ns);

/* Sets *slow to NULL, and accepts NULL there. A thread that hangs in a reading is left behind: it ends itself when that
 * returns. */
void slow_stop(struct slow **slow);

#endif
