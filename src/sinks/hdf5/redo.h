/* Changing many places of a file at once: the pages as they will be are first written beside it, PATH.redo, then into it. Who
 * is killed in between leaves a redo that is whole, and is done again, or one that is not, and is forgotten. */
#ifndef SONDE_SINKS_HDF5_REDO_H
#define SONDE_SINKS_HDF5_REDO_H

#include "sinks/hdf5/pages.h"

/* Changes the file at fd, whose name is path, and makes it durable. Pages beyond old_size, which nobody refers to yet, go
 * first. After an error other than IO the file is as it was, or the redo is there. */
enum err hdf5_redo_change(int fd, const char *path, const struct hdf5_pages *pages, uint64_t old_size);

/* Does again what was begun, if there is anything. The redo of another file that had the same name is removed. */
enum err hdf5_redo_recover(int fd, const char *path);

#endif
