/* Whether a sink could write to a place of the disk: looked at and not tried, so that nothing is there behind it that was not
 * before. From the settings of a sink to what 'sonde collect --check' says. */
#ifndef SONDE_SINKS_WRITABLE_H
#define SONDE_SINKS_WRITABLE_H

#include "base/err.h"

#include <stddef.h>

enum writable_kind {
    WRITABLE_FILE,       /* its folder must be there */
    WRITABLE_FILE_BELOW, /* the folders above it are made */
    WRITABLE_DIRECTORY,     /* it is made, with those above it */
};

/* ABSENT, DENIED, IO: error gets a sentence that names the place. A path that is NULL or "-" is standard output: OK. */
enum err writable_check(const char *path, enum writable_kind kind, char *error, size_t error_size);

#endif
