/* The life of samplers: open, read, fail, rest, try again. */
#include "sample/samplers.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define PAUSE_FIRST_NS (1 * NS_PER_S)
#define PAUSE_MAX_NS (64 * NS_PER_S)

struct slot {
    const struct sampler *sampler;
    void *state;
    bool is_open, is_absent, was_reported;
    uint64_t pause_ns, retry_at_ns; /* CLOCK_MONOTONIC */
};

struct samplers {
    struct sampler_context context;
    size_t count;
    struct slot slots[];
};

static size_t list_size(const struct sampler *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

/* A state that failed is not to be trusted: each opening has a new one. */
static enum err slot_open(struct slot *slot, const struct sampler_context *context)
{
    const struct sampler *sampler = slot->sampler;
    slot->state = calloc(1, sampler->state_size ? sampler->state_size : 1);
    if (!slot->state)
        return NOMEM;
    enum err err = setting_defaults(sampler->settings, slot->state);
    if (!err)
        err = sampler->open(slot->state, context);
    if (err) {
        free(slot->state);
        slot->state = NULL;
    }
    slot->is_open = !err;
    return err;
}

static void slot_close(struct slot *slot)
{
    if (slot->is_open && slot->sampler->close)
        slot->sampler->close(slot->state);
    free(slot->state);
    slot->state = NULL;
    slot->is_open = false;
}

static void slot_rest(struct slot *slot, enum err err)
{
    if (!slot->was_reported)
        log_warn("cannot sample %s: %s. It is tried again from time to time; see 'sonde doctor'.", slot->sampler->name,
                 err_text(err));
    slot->was_reported = true;
    slot->pause_ns = slot->pause_ns ? slot->pause_ns * 2 : PAUSE_FIRST_NS;
    if (slot->pause_ns > PAUSE_MAX_NS)
        slot->pause_ns = PAUSE_MAX_NS;
    slot->retry_at_ns = clock_monotonic_ns() + slot->pause_ns;
}

static void slot_begin(struct slot *slot, const struct sampler_context *context)
{
    enum err err = slot_open(slot, context);
    slot->is_absent = err == ABSENT || err == DENIED;
    if (err && !slot->is_absent)
        slot_rest(slot, err);
}

static bool is_silent(enum err err)
{
    return err == OK || err == AGAIN || err == GONE;
}

static void slot_read(struct slot *slot, const struct sampler_context *context, struct batch *out)
{
    if (slot->is_absent)
        return;
    if (!slot->is_open && clock_monotonic_ns() >= slot->retry_at_ns)
        slot_begin(slot, context);
    if (!slot->is_open)
        return;
    enum err err = slot->sampler->read(slot->state, out);
    if (is_silent(err)) {
        slot->pause_ns = 0;
        return;
    }
    slot_close(slot);
    slot_rest(slot, err);
}

enum err samplers_open(struct samplers **samplers, const struct sampler *const *list,
                       const struct sampler_context *context)
{
    list = list ? list : sampler_run;
    size_t count = list_size(list);
    *samplers = calloc(1, sizeof **samplers + count * sizeof(struct slot));
    if (!*samplers)
        return NOMEM;
    (*samplers)->context = *context;
    (*samplers)->count = count;
    for (size_t i = 0; i < count; i++) {
        (*samplers)->slots[i].sampler = list[i];
        slot_begin(&(*samplers)->slots[i], &(*samplers)->context);
    }
    return OK;
}

void samplers_read(struct samplers *samplers, struct batch *out)
{
    for (size_t i = 0; i < samplers->count; i++)
        slot_read(&samplers->slots[i], &samplers->context, out);
}

void samplers_close(struct samplers **samplers)
{
    if (!*samplers)
        return;
    for (size_t i = 0; i < (*samplers)->count; i++)
        slot_close(&(*samplers)->slots[i]);
    free(*samplers);
    *samplers = NULL;
}

enum err samplers_try(const struct sampler *sampler, const struct sampler_context *context)
{
    struct slot slot = { .sampler = sampler };
    enum err err = slot_open(&slot, context);
    if (err)
        return err;
    struct batch batch;
    batch_init(&batch);
    err = sampler->read(slot.state, &batch);
    batch_clear(&batch);
    slot_close(&slot);
    return err;
}
