/* Fast formatting of numbers for /metrics: a scrape can have a hundred thousand. */
#ifndef SONDE_MODEL_PROM_NUMBER_H
#define SONDE_MODEL_PROM_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define PROM_NUMBER_MAX 40

/* Each writes at most PROM_NUMBER_MAX characters without a NUL and returns how many.
 * value / 10^decimals (at most 18), exactly: 1500 with 3 decimals gives "1.5". */
size_t prom_number_u64(char *text, uint64_t value, unsigned decimals);
size_t prom_number_i64(char *text, int64_t value, unsigned decimals);

/* Parses back to the same number. "NaN", "+Inf", "-Inf". */
size_t prom_number_f64(char *text, double value);

#endif
