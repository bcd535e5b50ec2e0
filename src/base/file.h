/* Reads small files, mostly of /proc and /sys, whole into the caller's memory. Paths are relative to a root, so that tests
 * can use a captured tree: root "" or NULL is this node. */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"

#include <stddef.h>

#define FILE_PATH_MAX 4096

/* Joins root and path, which begins with '/'. USAGE: too long. */
enum err file_path(char path_out[FILE_PATH_MAX], const char *root, const char *path);

/* Opens for reading, close-on-exec. The caller closes *fd; it is -1 on error. */
enum err file_open(const char *root, const char *path, int *fd);

/* Reads from the beginning until the end or until text is full, and appends a NUL, which size includes. */
enum err file_read_fd(int fd, char *text, size_t size, size_t *got);

/* Opens, reads, closes. got may be NULL. */
enum err file_read(const char *root, const char *path, char *text, size_t size, size_t *got);

/* file_read of the first line, without the newline. */
enum err file_read_line(const char *root, const char *path, char *text, size_t size);

#endif
