/* Finding and loading a sampler's library. */
#include "samplers/module.h"

#include "base/install_paths.h"

#include <stdio.h>
#include <string.h>

enum err module_load(const char *name, const struct sampler **sampler, char *why, size_t why_size)
{
    static const struct { uint32_t version, sizes[7]; } marks = { MODULE_VERSION, MODULE_SIZES };
    char file[128];
    const void *found;
    struct self_module wanted = { file, MODULE_SYMBOL, &marks.version, sizeof marks / sizeof marks.version, NULL };
    snprintf(file, sizeof file, "sample-%s.so", name);
    enum err err = self_load_module(&wanted, &found, why, why_size);
    if (err)
        return err;
    *sampler = ((const struct module *)found)->sampler;
    if (!strcmp((*sampler)->name, name))
        return OK;
    snprintf(why, why_size, "%s has the sensor %s: it is of another version of Sonde", file, (*sampler)->name);
    return CORRUPT;
}
