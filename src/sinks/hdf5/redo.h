/* Changes many places of a file atomically: the modified pages are first written to PATH.redo, then to the file.
 * After a crash a complete redo file is applied again, and an incomplete one is ignored. */
#ifndef SONDE_SINKS_HDF5_REDO_H
#define SONDE_SINKS_HDF5_REDO_H

#include "sinks/hdf5/pages.h"

/* Applies pages to the file at fd, whose name is path, and syncs it. Pages beyond old_size, which nothing refers to
 * yet, are written first. After an error other than IO the file is unchanged, or the redo file exists. */
enum err hdf5_redo_change(int fd, const char *path, const struct hdf5_pages *pages, uint64_t old_size);

/* Completes an interrupted change, if there is one. Removes the redo file of another file that had the same name. */
enum err hdf5_redo_recover(int fd, const char *path);

#endif
