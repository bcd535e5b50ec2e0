/* The state of one sampler: open, failed, waiting to be retried, absent. There is one for each sampler in `sonde run`
 * (samplers.c), in the agent, and in the agent's threads for slow samplers. */
#ifndef SONDE_SAMPLERS_SAMPLER_STATE_H
#define SONDE_SAMPLERS_SAMPLER_STATE_H

#include "model/setting_list.h"
#include "samplers/sampler.h"

struct sampler_state {
    /* Set by the owner; borrowed. */
    const struct sampler *sampler;
    const struct sampler_context *context;
    const struct setting_pair *settings; /* in addition to the defaults */
    size_t setting_count;
    uint64_t retry_absent_ns; /* an absent sensor is retried after this time; 0: never */

    bool is_named;                   /* the user has asked for it: log once if it is missing */
    bool skip_first_sample;          /* JOB_BEGIN is passed without out: a reading follows anyway, or too many jobs
                                      * begin at once */

    /* Set here. */
    void *memory;
    bool is_open, is_absent, was_reported;
    enum err last;                  /* the error because of which it is not open */
    uint64_t failures;
    uint64_t pause_ns, retry_at_ns; /* CLOCK_MONOTONIC */
    uint64_t polled_ns, poll_within_ns;  /* last call of poll(), CLOCK_MONOTONIC; and within what time to call it
                                          * again */
};

/* Opens the sampler if it is closed and due. True: this call opened it, and the running jobs must be passed to it. */
bool sampler_state_wake(struct sampler_state *state);

/* Reads the sampler, if it is open. If that fails, the sampler is closed, the error logged once, a retry scheduled, and
 * its samples removed from out, since they may point into what was closed. */
void sampler_state_read(struct sampler_state *state, struct batch *out);

/* The same for the last reading: the sampler must not postpone anything. */
void sampler_state_read_last(struct sampler_state *state, struct batch *out);

/* Calls poll() if it is due. now_ns is CLOCK_MONOTONIC. */
void sampler_state_poll(struct sampler_state *state, uint64_t now_ns);

/* The same as sampler_state_read, for a job event. */
void sampler_state_job(struct sampler_state *state, const struct job *job, enum job_event event, struct batch *out);

/* It may be opened again by sampler_state_wake. */
void sampler_state_close(struct sampler_state *state);

#endif
