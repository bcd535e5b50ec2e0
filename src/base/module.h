/* Modules: shared libraries of ours that are loaded when they are needed, so that sonde itself needs neither ZeroMQ nor
 * libpq nor HDF5. */
#ifndef SONDE_BASE_MODULE_H
#define SONDE_BASE_MODULE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* A module exports one constant, which begins with its version numbers: one uint32_t per layout that both sides must agree
 * on. */
struct module {
    const char *file, *symbol; /* "wire-zmq.so", "sonde_zmq" */
    const uint32_t *versions;  /* as this program was built */
    size_t version_count;
    const char *hint;          /* appended to "is not installed"; NULL: nothing */
};

/* Path of a module: in $SONDE_MODULES if that is set, else as install_paths_find. */
enum err module_find(const char *name, char *path, size_t size);

/* Loads a module, which is never unloaded. ABSENT: it or a library that it needs is missing; CORRUPT: it was built for
 * another version of Sonde. error, unless NULL, gets a sentence that names the file. */
enum err module_load(const struct module *module, const void **constant, char *error, size_t error_size);

#endif
