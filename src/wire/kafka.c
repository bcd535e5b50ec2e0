/* Finding and loading the module. */
#include "wire/kafka.h"

#include "base/self.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#define FILE_NAME "sink-kafka.so"

enum err kafka_load(const struct kafka_module **module, char *why, size_t why_size)
{
    char path[PATH_MAX];
    if (self_find_module(FILE_NAME, path, sizeof path)) {
        snprintf(why, why_size, "%s is not installed", FILE_NAME);
        return ABSENT;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, why_size, "%s cannot be loaded: %s", FILE_NAME, dlerror());
        return ABSENT;
    }
    const struct kafka_module *found = dlsym(library, KAFKA_MODULE_SYMBOL);
    if (!found || found->version != KAFKA_MODULE_VERSION) {
        snprintf(why, why_size, "%s is of another version of Sonde: install both together", path);
        dlclose(library);
        return CORRUPT;
    }
    *module = found;
    return OK;
}
