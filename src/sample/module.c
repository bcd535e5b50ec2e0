/* Finding and loading a sampler's library. */
#include "sample/module.h"

#include "base/self.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err find(const char *file, char path[PATH_MAX])
{
    const char *folder = secure_getenv("SONDE_MODULES");
    if (!folder || !*folder)
        return self_find(file, path, PATH_MAX);
    int size = snprintf(path, PATH_MAX, "%s/%s", folder, file);
    return size > 0 && size < PATH_MAX && access(path, R_OK) == 0 ? OK : ABSENT;
}

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
    if (find(file, path)) {
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
