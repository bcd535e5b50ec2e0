/* Runs a slow sampler, whose readings may take longer than a tick, in a thread of its own. The loop requests a reading
 * and continues; the thread signals on a descriptor when it is done, and does not touch the batch until the loop has
 * released it. */
#ifndef SONDE_AGENT_SAMPLER_THREAD_H
#define SONDE_AGENT_SAMPLER_THREAD_H

#include "agent/agent_config.h"

struct sampler_thread;

struct sampler_thread_status {
    bool is_open, is_absent, is_busy;
    enum err last;
    uint64_t failures;
    uint64_t skipped;  /* ticks at which an earlier reading was still running */
    uint64_t openings; /* the addresses of the samples' sets may change with each */
};

/* Does not open the sampler yet: the thread does that at the first tick. event_fd (an eventfd) is written to when a
 * batch is ready. Copies settings; borrows the rest forever, even if the thread cannot be stopped. */
enum err sampler_thread_start(struct sampler_thread **worker, const struct sampler *sampler,
                              const struct sampler_context *context,
                    const struct setting_list *settings, uint64_t retry_absent_ns, bool is_named, int event_fd);

void sampler_thread_tick(struct sampler_thread *worker);
void sampler_thread_job(struct sampler_thread *worker, const struct job *job, enum job_event event);

/* The batch that was read, or NULL. The thread waits until sampler_thread_release. */
const struct batch *sampler_thread_batch(struct sampler_thread *worker);
void sampler_thread_release(struct sampler_thread *worker);

void sampler_thread_status(struct sampler_thread *worker, struct sampler_thread_status *status);

/* Waits until the thread is idle; false at the deadline (CLOCK_MONOTONIC). A batch may be ready then. */
bool sampler_thread_wait(struct sampler_thread *worker, uint64_t deadline_ns);

/* Sets *worker to NULL, and accepts NULL. A thread that hangs in a reading is detached: it ends when that returns. */
void sampler_thread_stop(struct sampler_thread **worker);

#endif
