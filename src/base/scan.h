/* Reading the kernel's texts by hand: no scanf, by name rather than by position. Texts end with a NUL. */
#ifndef SONDE_BASE_SCAN_H
#define SONDE_BASE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* Skips blanks and tabs, reads a decimal number and leaves *at behind it. False (and *at unmoved) when there is none or
 * it does not fit. */
bool scan_u64(const char **at, uint64_t *value);

/* The same for "0.42". */
bool scan_decimal(const char **at, double *value);

/* Behind the key of the first line that begins with it; NULL when no line does. */
const char *scan_line(const char *text, const char *key);

/* scan_line, then the number. */
bool scan_line_u64(const char *text, const char *key, uint64_t *value);

/* Beginning of the next line, NULL behind the last. */
const char *scan_next_line(const char *text);

#endif
