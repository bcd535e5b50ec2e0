/* Files of sysfs that contain one number. They are kept open and read with one pread: sysfs generates the text again at
 * each read from offset 0. */
#ifndef SONDE_PROC_NUMBER_H
#define SONDE_PROC_NUMBER_H

#include "base/err.h"

#include <stdint.h>

/* Parses a decimal number, optionally surrounded by blanks and a newline. CORRUPT: not a number, or out of range.
 * Accepts any text. */
enum err number_parse_u64(const char *text, uint64_t *value);
enum err number_parse_i64(const char *text, int64_t *value);

/* Reads an open file from the beginning. *value is unchanged on an error. */
enum err number_read_u64(int fd, uint64_t *value);
enum err number_read_i64(int fd, int64_t *value);

/* Opens, reads and closes. */
enum err number_file_u64(const char *root, const char *path, uint64_t *value);
enum err number_file_i64(const char *root, const char *path, int64_t *value);

#endif
