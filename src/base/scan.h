/* Parses files of /proc and /sys, without scanf, by name instead of position. Strings end with a NUL. */
#ifndef SONDE_BASE_SCAN_H
#define SONDE_BASE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* Skips spaces and tabs, reads a decimal number and moves *at after it. False, with *at unchanged: there is none, or it
 * overflows. */
bool scan_u64(const char **at, uint64_t *value);

/* The same for "0.42". */
bool scan_decimal(const char **at, double *value);

/* The rest of the first line that begins with key; NULL: none. */
const char *scan_line(const char *text, const char *key);

/* scan_line, then the number. */
bool scan_line_u64(const char *text, const char *key, uint64_t *value);

/* Start of the next line; NULL: that was the last. */
const char *scan_next_line(const char *text);

#endif
