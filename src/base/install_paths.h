/* Where this executable is, and the files that were installed with it. All paths are relative to the executable, so that an
 * installed tree can be moved. */
#ifndef SONDE_BASE_INSTALL_PATHS_H
#define SONDE_BASE_INSTALL_PATHS_H

#include "base/err.h"

#include <stddef.h>

/* Absolute path of this executable. ABSENT, FULL. */
enum err install_paths_executable(char *path, size_t size);

/* Absolute path of a library that was installed with it: beside the executable, in the library directory of the same tree,
 * or in the build tree. ABSENT: in none of them; FULL: the path is longer than size. */
enum err install_paths_find(const char *name, char *path, size_t size);

/* Looks for a file in one directory: its path without "..". ABSENT: missing or not readable; FULL. */
enum err install_paths_find_in(const char *directory, const char *name, char *path, size_t size);

#endif
