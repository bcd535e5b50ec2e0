/* A module of another version of Sonde (samplers/sampler_module.h), or with structs of another layout: it must be refused. */
#include "samplers/sampler_module.h"

static enum err nothing(void *state, const struct sampler_context *context)
{
    (void)state, (void)context;
    return OK;
}

#ifdef OTHER_LAYOUT
static const struct sampler sampler = { .name = "odd", .open = nothing };
#else
static const struct sampler sampler = { .name = "old", .open = nothing };
#endif

extern const struct sampler_module sonde_module;
__attribute__((visibility("default"))) const struct sampler_module sonde_module = {
#ifdef OTHER_LAYOUT
    SAMPLER_MODULE_VERSION, { sizeof(struct sampler), sizeof(struct sampler_context) + 8 }, &sampler
#else
    SAMPLER_MODULE_VERSION + 1, SAMPLER_MODULE_SIZES, &sampler
#endif
};
