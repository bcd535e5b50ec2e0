/* The life of one sampler: opened, read, failed, at rest, opened again. Whoever drives samplers has one of these for each:
 * sonde run (samplers.c), the agent, a thread of the agent. */
#ifndef SONDE_SAMPLERS_SAMPLER_STATE_H
#define SONDE_SAMPLERS_SAMPLER_STATE_H

#include "model/setting_list.h"
#include "samplers/sampler.h"

struct sampler_state {
    /* What its owner says; borrowed. */
    const struct sampler *sampler;
    const struct sampler_context *context;
    const struct setting_pair *settings; /* besides the defaults; borrowed as long as it lives */
    size_t setting_count;
    uint64_t retry_absent_ns; /* what is absent is looked for again after so long; 0: never */

    bool skip_first_sample;          /* JOB_BEGIN comes without out: a reading follows anyway, or too many begin at once */

    /* What became of it. */
    void *memory;
    bool is_open, is_absent, was_reported;
    enum err last;                  /* why it is not open */
    uint64_t failures;
    uint64_t pause_ns, retry_at_ns; /* CLOCK_MONOTONIC */
    uint64_t polled_ns, poll_within_ns;  /* when it last looked, CLOCK_MONOTONIC; how soon it wants to again */
};

/* Opens it when it is closed and its time has come. True: it was opened by this call, and jobs must be told to it. */
bool sampler_state_wake(struct sampler_state *state);

/* Adds what it gives to out, when it is open. When that fails it is closed, reported once and rests; what it had added is
 * taken back, since it may point into what was closed. */
void sampler_state_read(struct sampler_state *state, struct batch *out);

/* The same for the last time: a sampler that leaves something for a later reading does not now. */
void sampler_state_read_last(struct sampler_state *state, struct batch *out);

/* Lets it look, when it is open and the time has come, at what it would lose count of. now_ns is CLOCK_MONOTONIC. */
void sampler_state_poll(struct sampler_state *state, uint64_t now_ns);

/* The same as sampler_state_read for a job's event. */
void sampler_state_job(struct sampler_state *state, const struct job *job, enum job_event event, struct batch *out);

/* May be woken again. */
void sampler_state_close(struct sampler_state *state);

#endif
