/* Could a sink write to this path? Tested without creating anything, for `sonde collect --check`. */
#ifndef SONDE_SINKS_WRITABLE_H
#define SONDE_SINKS_WRITABLE_H

#include "base/err.h"

#include <stddef.h>

enum writable_kind {
    WRITABLE_FILE,       /* its directory must exist */
    WRITABLE_FILE_BELOW, /* missing parent directories will be created */
    WRITABLE_DIRECTORY,     /* will be created, with missing parents */
};

/* ABSENT, DENIED, IO: error gets a sentence that names the path. NULL or "-" is standard output: OK. */
enum err writable_check(const char *path, enum writable_kind kind, char *error, size_t error_size);

#endif
