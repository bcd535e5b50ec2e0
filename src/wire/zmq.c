/* Finding and loading the module. */
#include "wire/zmq.h"

#include "base/self.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#define FILE_NAME "wire-zmq.so"

enum err zmq_load(const struct zmq_module **module, char *why, size_t why_size)
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
    const struct zmq_module *found = dlsym(library, ZMQ_MODULE_SYMBOL);
    if (!found || found->version != ZMQ_MODULE_VERSION) {
        snprintf(why, why_size, "%s is of another version of Sonde: install both together", path);
        dlclose(library);
        return CORRUPT;
    }
    *module = found;
    return OK;
}
