/* Opens, reads and closes a sampler, and retries after failures with growing pauses. */
#include "samplers/sampler_state.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define PAUSE_FIRST_NS (1 * NS_PER_S)
#define PAUSE_MAX_NS (64 * NS_PER_S)

static enum err apply_settings(const struct sampler_state *state)
{
    enum err err = setting_defaults(state->sampler->settings, state->memory);
    for (size_t i = 0; i < state->setting_count && !err; i++)
        err = setting_apply(state->sampler->settings, state->memory, state->settings[i].key, state->settings[i].value);
    return err;
}

/* Each attempt gets new memory: the state after a failure is not trusted. */
static enum err try_open(struct sampler_state *state)
{
    const struct sampler *sampler = state->sampler;
    state->memory = calloc(1, sampler->state_size ? sampler->state_size : 1);
    if (!state->memory)
        return NOMEM;
    enum err err = apply_settings(state);
    if (!err)
        err = sampler->open(state->memory, state->context);
    if (err) {
        free(state->memory);
        state->memory = NULL;
    }
    state->is_open = !err;
    state->poll_within_ns = 0;
    return err;
}

void sampler_state_close(struct sampler_state *state)
{
    if (state->is_open && state->sampler->close)
        state->sampler->close(state->memory);
    free(state->memory);
    state->memory = NULL;
    state->is_open = false;
}

static void pause_retries(struct sampler_state *state, enum err err)
{
    if (!state->was_reported)
        log_warn("cannot read sensor %s: %s. It is retried with growing pauses; see 'sonde doctor'.",
                 state->sampler->name,
                 err_text(err));
    state->was_reported = true;
    state->failures++;
    state->pause_ns = state->pause_ns ? state->pause_ns * 2 : PAUSE_FIRST_NS;
    if (state->pause_ns > PAUSE_MAX_NS)
        state->pause_ns = PAUSE_MAX_NS;
    state->retry_at_ns = clock_monotonic_ns() + state->pause_ns;
}

static bool is_retry_due(const struct sampler_state *state)
{
    if (state->is_absent && !state->retry_absent_ns)
        return false;
    return !state->retry_at_ns || clock_monotonic_ns() >= state->retry_at_ns;
}

static void log_absent(struct sampler_state *state, enum err err)
{
    if (!state->is_named || state->was_reported)
        return;
    log_warn("sensor %s is not available on this node: %s; see 'sonde doctor'", state->sampler->name,
             err == DENIED ? "permission denied" : "no such hardware or kernel interface");
    state->was_reported = true;
}

bool sampler_state_wake(struct sampler_state *state)
{
    if (state->is_open || !is_retry_due(state))
        return false;
    enum err err = state->last = try_open(state);
    state->is_absent = err == ABSENT || err == DENIED;
    if (state->is_absent) {
        log_absent(state, err);
        state->retry_at_ns = clock_monotonic_ns() + state->retry_absent_ns;
    }
    else if (err)
        pause_retries(state, err);
    return state->is_open;
}

static bool is_silent(enum err err)
{
    return err == OK || err == AGAIN || err == GONE;
}

static void check_result(struct sampler_state *state, enum err err, struct batch *out, struct batch before)
{
    if (is_silent(err)) {
        state->pause_ns = 0;
        return;
    }
    out->count = before.count;
    out->values_used = before.values_used;
    state->last = err;
    sampler_state_close(state);
    pause_retries(state, err);
}

void sampler_state_read(struct sampler_state *state, struct batch *out)
{
    if (!state->is_open)
        return;
    struct batch before = *out;
    check_result(state, state->sampler->read(state->memory, out), out, before);
}

void sampler_state_read_last(struct sampler_state *state, struct batch *out)
{
    if (state->is_open && state->sampler->before_last_read)
        state->sampler->before_last_read(state->memory);
    sampler_state_read(state, out);
}

void sampler_state_poll(struct sampler_state *state, uint64_t now_ns)
{
    if (!state->is_open || !state->sampler->poll || now_ns - state->polled_ns < state->poll_within_ns)
        return;
    state->polled_ns = now_ns;
    state->poll_within_ns = state->sampler->poll(state->memory);
}

void sampler_state_job(struct sampler_state *state, const struct job *job, enum job_event event, struct batch *out)
{
    if (!state->is_open || !state->sampler->job)
        return;
    struct batch before = *out;
    bool adds = event == JOB_BEGIN ? !state->skip_first_sample : event == JOB_END || state->sampler->loses_counts_on_close;
    check_result(state, state->sampler->job(state->memory, job, event, adds ? out : NULL), out, before);
}
