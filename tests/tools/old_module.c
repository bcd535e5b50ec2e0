/* A module of another version of Sonde (sample/module.h): it must be refused. */
#include "sample/module.h"

static enum err nothing(void *state, const struct sampler_context *context)
{
    (void)state, (void)context;
    return OK;
}

static const struct sampler sampler = { .name = "old", .open = nothing };

extern const struct module sonde_module;
__attribute__((visibility("default"))) const struct module sonde_module = {
    MODULE_VERSION + 1, sizeof(struct sampler), &sampler
};
