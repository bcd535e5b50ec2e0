/* dlopen, a version check, and one log level and name for program and module. */
#include "base/module.h"

#include "base/install_paths.h"
#include "base/log.h"

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

/* A module that logs nothing does not have this function. */
static void share_log(void *library)
{
    void (*share)(struct log_state *shared);
    *(void **)&share = dlsym(library, "sonde_log_share");
    if (share)
        share(log_shared());
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
        share_log(library);
        return OK;
    }
    snprintf(error, error_size, "%s is from another version of Sonde: install both together", path);
    dlclose(library);
    return CORRUPT;
}
