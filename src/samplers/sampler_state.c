/* Open, read, fail, rest, try again. */
#include "samplers/sampler_state.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define PAUSE_FIRST_NS (1 * NS_PER_S)
#define PAUSE_MAX_NS (64 * NS_PER_S)

static enum err apply_settings(const struct life *life)
{
    enum err err = setting_defaults(life->sampler->settings, life->state);
    for (size_t i = 0; i < life->setting_count && !err; i++)
        err = setting_apply(life->sampler->settings, life->state, life->settings[i].key, life->settings[i].value);
    return err;
}

/* A state that failed is not to be trusted: each opening has a new one. */
static enum err try_open(struct life *life)
{
    const struct sampler *sampler = life->sampler;
    life->state = calloc(1, sampler->state_size ? sampler->state_size : 1);
    if (!life->state)
        return NOMEM;
    enum err err = apply_settings(life);
    if (!err)
        err = sampler->open(life->state, life->context);
    if (err) {
        free(life->state);
        life->state = NULL;
    }
    life->is_open = !err;
    life->within_ns = 0;
    return err;
}

void life_close(struct life *life)
{
    if (life->is_open && life->sampler->close)
        life->sampler->close(life->state);
    free(life->state);
    life->state = NULL;
    life->is_open = false;
}

static void rest(struct life *life, enum err err)
{
    if (!life->was_reported)
        log_warn("cannot sample %s: %s. It is tried again from time to time; see 'sonde doctor'.", life->sampler->name,
                 err_text(err));
    life->was_reported = true;
    life->failures++;
    life->pause_ns = life->pause_ns ? life->pause_ns * 2 : PAUSE_FIRST_NS;
    if (life->pause_ns > PAUSE_MAX_NS)
        life->pause_ns = PAUSE_MAX_NS;
    life->retry_at_ns = clock_monotonic_ns() + life->pause_ns;
}

static bool is_time(const struct life *life)
{
    if (life->is_absent && !life->look_again_ns)
        return false;
    return !life->retry_at_ns || clock_monotonic_ns() >= life->retry_at_ns;
}

bool life_wake(struct life *life)
{
    if (life->is_open || !is_time(life))
        return false;
    enum err err = life->last = try_open(life);
    life->is_absent = err == ABSENT || err == DENIED;
    if (life->is_absent)
        life->retry_at_ns = clock_monotonic_ns() + life->look_again_ns;
    else if (err)
        rest(life, err);
    return life->is_open;
}

static bool is_silent(enum err err)
{
    return err == OK || err == AGAIN || err == GONE;
}

static void judge(struct life *life, enum err err, struct batch *out, struct batch before)
{
    if (is_silent(err)) {
        life->pause_ns = 0;
        return;
    }
    out->count = before.count;
    out->values_used = before.values_used;
    life->last = err;
    life_close(life);
    rest(life, err);
}

void life_read(struct life *life, struct batch *out)
{
    if (!life->is_open)
        return;
    struct batch before = *out;
    judge(life, life->sampler->read(life->state, out), out, before);
}

void life_read_last(struct life *life, struct batch *out)
{
    if (life->is_open && life->sampler->settle)
        life->sampler->settle(life->state);
    life_read(life, out);
}

void life_look(struct life *life, uint64_t now_ns)
{
    if (!life->is_open || !life->sampler->look || now_ns - life->looked_ns < life->within_ns)
        return;
    life->looked_ns = now_ns;
    life->within_ns = life->sampler->look(life->state);
}

void life_job(struct life *life, const struct job *job, enum job_event event, struct batch *out)
{
    if (!life->is_open || !life->sampler->job)
        return;
    struct batch before = *out;
    bool adds = event == JOB_BEGIN ? !life->no_first : event == JOB_END || life->sampler->holds_counts;
    judge(life, life->sampler->job(life->state, job, event, adds ? out : NULL), out, before);
}
