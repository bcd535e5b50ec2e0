/* A module of another version of Sonde (samplers/module.h), or with structs of another layout: it must be refused. */
#include "samplers/module.h"

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

extern const struct module sonde_module;
__attribute__((visibility("default"))) const struct module sonde_module = {
#ifdef OTHER_LAYOUT
    MODULE_VERSION, { sizeof(struct sampler), sizeof(struct sampler_context) + 8 }, &sampler
#else
    MODULE_VERSION + 1, MODULE_SIZES, &sampler
#endif
};
