/* File names as in Colmet: the path itself if it ends in ".hdf5", else PATH.<seconds since the epoch>.hdf5, new at
 * each start. */
#ifndef SONDE_SINKS_HDF5_NAMES_H
#define SONDE_SINKS_HDF5_NAMES_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define HDF5_SUFFIX ".hdf5"

bool hdf5_names_is_fixed(const char *path);

/* PATH.<time_s>.hdf5. USAGE: too long. */
enum err hdf5_names_make(const char *path, uint64_t time_s, char name[PATH_MAX]);

/* The time of the newest existing file. ABSENT: none. */
enum err hdf5_names_newest(const char *path, uint64_t *time_s);

/* Creates the parent directories of path. */
enum err hdf5_names_make_parents(const char *path);

#endif
