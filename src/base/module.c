/* dlopen, a version check, and state that program and module share: the log level and name, the hash key of maps. */
#include "base/module.h"

#include "base/install_paths.h"
#include "base/log.h"
#include "base/map.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err module_find(const char *name, char *path, size_t size)
{
    const char *directory = secure_getenv("SONDE_MODULES");
    return directory && *directory ? install_paths_find_in(directory, name, path, size) : install_paths_find(name, path, size);
}

/* A module that logs nothing, or has no maps, does not have the function. */
static void share_state(void *library)
{
    void (*share_log)(struct log_state *shared);
    void (*share_key)(const uint64_t key[2]);
    *(void **)&share_log = dlsym(library, "sonde_log_share");
    *(void **)&share_key = dlsym(library, "sonde_map_share");
    if (share_log)
        share_log(log_shared());
    if (share_key)
        share_key(map_shared_key());
}

enum err module_load(const struct module *module, const void **constant, char *error, size_t error_size)
{
    char path[PATH_MAX];
    const char *hint = module->hint ? module->hint : "";
    if (module_find(module->file, path, sizeof path)) {
        snprintf(error, error_size, "%s is not installed%s%s", module->file, *hint ? ": " : "", hint);
        return ABSENT;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(error, error_size, "cannot load %s: %s", module->file, dlerror());
        return ABSENT;
    }
    *constant = dlsym(library, module->symbol);
    if (*constant && !memcmp(*constant, module->versions, module->version_count * sizeof *module->versions)) {
        share_state(library);
        return OK;
    }
    snprintf(error, error_size, "%s is from another version of Sonde: install both together", path);
    dlclose(library);
    return CORRUPT;
}
