/* Small files of the kernel, read whole into the caller's memory. Paths are below a root, so that a captured tree can
 * stand in for this machine: root "" or NULL is the machine itself. */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"

#include <stddef.h>

#define FILE_PATH_MAX 4096

/* root and path (which begins with '/') in one. USAGE when it does not fit. */
enum err file_path(char path_out[FILE_PATH_MAX], const char *root, const char *path);

/* Opens for reading, close-on-exec. The caller closes *fd; it is -1 on error. */
enum err file_open(const char *root, const char *path, int *fd);

/* Reads from the beginning until the end or until text is full, and puts a NUL behind it. size counts the NUL. */
enum err file_read_fd(int fd, char *text, size_t size, size_t *got);

/* Opens, reads, closes. got may be NULL. */
enum err file_read(const char *root, const char *path, char *text, size_t size, size_t *got);

/* file_read for files of one line: without its newline. */
enum err file_read_line(const char *root, const char *path, char *text, size_t size);

#endif
