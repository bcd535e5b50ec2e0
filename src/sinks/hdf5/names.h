/* Names of Colmet's files: exactly the path when it ends in ".hdf5"; else PATH.<seconds since 1970>.hdf5, a new one at each
 * start. */
#ifndef SONDE_SINKS_HDF5_NAMES_H
#define SONDE_SINKS_HDF5_NAMES_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

bool hdf5_names_is_fixed(const char *path);

/* PATH.<time_s>.hdf5. USAGE: it is too long. */
enum err hdf5_names_make(const char *path, uint64_t time_s, char name[PATH_MAX]);

/* The newest of these files that is there. ABSENT: none. */
enum err hdf5_names_newest(const char *path, uint64_t *time_s);

/* Makes the folders on the way to path. */
enum err hdf5_names_make_folder(const char *path);

#endif
