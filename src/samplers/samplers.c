/* A list of samplers, each with its own state. */
#include "samplers/samplers.h"

#include "samplers/sampler_state.h"

#include <stdlib.h>

struct samplers {
    struct sampler_context context;
    size_t count;
    struct sampler_state states[];
};

static size_t list_size(const struct sampler *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

enum err samplers_open(struct samplers **samplers, const struct sampler *const *list,
                       const struct sampler_context *context)
{
    list = list ? list : sampler_run;
    size_t count = list_size(list);
    *samplers = calloc(1, sizeof **samplers + count * sizeof(struct sampler_state));
    if (!*samplers)
        return NOMEM;
    (*samplers)->context = *context;
    (*samplers)->count = count;
    for (size_t i = 0; i < count; i++) {
        (*samplers)->states[i] = (struct sampler_state){ .sampler = list[i], .context = &(*samplers)->context };
        sampler_state_wake(&(*samplers)->states[i]);
    }
    return OK;
}

void samplers_read(struct samplers *samplers, struct batch *out)
{
    for (size_t i = 0; i < samplers->count; i++) {
        sampler_state_wake(&samplers->states[i]);
        sampler_state_read(&samplers->states[i], out);
    }
}

void samplers_read_last(struct samplers *samplers, struct batch *out)
{
    for (size_t i = 0; i < samplers->count; i++) {
        sampler_state_wake(&samplers->states[i]);
        sampler_state_read_last(&samplers->states[i], out);
    }
}

void samplers_close(struct samplers **samplers)
{
    if (!*samplers)
        return;
    for (size_t i = 0; i < (*samplers)->count; i++)
        sampler_state_close(&(*samplers)->states[i]);
    free(*samplers);
    *samplers = NULL;
}

enum err samplers_try(const struct sampler *sampler, const struct sampler_context *context)
{
    struct batch batch;
    void *state = calloc(1, sampler->state_size ? sampler->state_size : 1);
    if (!state)
        return NOMEM;
    enum err err = setting_defaults(sampler->settings, state);
    if (!err)
        err = sampler->open(state, context);
    if (!err) {
        batch_init(&batch);
        err = sampler->read(state, &batch);
        batch_clear(&batch);
        if (sampler->close)
            sampler->close(state);
    }
    free(state);
    return err;
}
