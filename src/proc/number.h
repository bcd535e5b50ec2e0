/* Files of sysfs that hold one number. They are kept open and read with one pread: sysfs makes the whole text anew at
 * each reading from the beginning. */
#ifndef SONDE_PROC_NUMBER_H
#define SONDE_PROC_NUMBER_H

#include "base/err.h"

#include <stdint.h>

/* A whole decimal number, with blanks and a newline around it at most. CORRUPT: it is none, or does not fit. Takes any
 * text. */
enum err number_parse_u64(const char *text, uint64_t *value);
enum err number_parse_i64(const char *text, int64_t *value);

/* From the beginning of an open file. *value is untouched on an error. */
enum err number_read_u64(int fd, uint64_t *value);
enum err number_read_i64(int fd, int64_t *value);

/* Opens, reads, closes. */
enum err number_file_u64(const char *root, const char *path, uint64_t *value);
enum err number_file_i64(const char *root, const char *path, int64_t *value);

#endif
