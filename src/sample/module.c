/* Finding and loading a sampler's library. */
#include "sample/module.h"

#include "base/self.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_ours(const struct module *module, const char *name)
{
    static const uint32_t sizes[] = MODULE_SIZES;
    return module->version == MODULE_VERSION && !memcmp(module->sizes, sizes, sizeof sizes)
           && !strcmp(module->sampler->name, name);
}

enum err module_load(const char *name, const struct sampler **sampler, char *why, size_t why_size)
{
    char file[128], path[PATH_MAX];
    snprintf(file, sizeof file, "sample-%s.so", name);
    if (self_find_module(file, path, sizeof path)) {
        snprintf(why, why_size, "%s is not installed", file);
        return ABSENT;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, why_size, "%s cannot be loaded: %s", file, dlerror());
        return ABSENT;
    }
    const struct module *module = dlsym(library, MODULE_SYMBOL);
    if (!module || !is_ours(module, name)) {
        snprintf(why, why_size, "%s is of another version of Sonde: install both together", path);
        dlclose(library);
        return CORRUPT;
    }
    *sampler = module->sampler;
    return OK;
}
