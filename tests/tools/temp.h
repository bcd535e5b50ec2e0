/* A folder of a test's own, below $TMPDIR, and files in it. A failure aborts: a test cannot go on without. */
#ifndef SONDE_TESTS_TOOLS_TEMP_H
#define SONDE_TESTS_TOOLS_TEMP_H

#include <stddef.h>

#define TEMP_PATH_MAX 512

/* Makes a new folder and writes its path. */
void temp_dir(char path[TEMP_PATH_MAX]);

/* Removes it with all that is in it. */
void temp_remove(const char *path);

/* Writes path/name. */
void temp_join(char path[TEMP_PATH_MAX], const char *dir, const char *name);

/* Makes or replaces a file; folders on the way are made. */
void temp_write(const char *path, const void *data, size_t size);

#endif
