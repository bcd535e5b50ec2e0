/* Loads a sampler's shared library. */
#include "samplers/sampler_module.h"

#include "base/module.h"


#include <stdio.h>
#include <string.h>

enum err sampler_module_load(const char *name, const struct sampler **sampler, char *error, size_t error_size)
{
    static const struct { uint32_t version, sizes[7]; } marks = { SAMPLER_MODULE_VERSION, SAMPLER_MODULE_SIZES };
    char file[128];
    const void *found;
    struct module wanted = { file, SAMPLER_MODULE_SYMBOL, &marks.version, sizeof marks / sizeof marks.version, NULL };
    snprintf(file, sizeof file, "sample-%s.so", name);
    enum err err = module_load(&wanted, &found, error, error_size);
    if (err)
        return err;
    *sampler = ((const struct sampler_module *)found)->sampler;
    if (!strcmp((*sampler)->name, name))
        return OK;
    snprintf(error, error_size, "%s contains the sampler %s: it belongs to another version of Sonde", file,
             (*sampler)->name);
    return CORRUPT;
}
