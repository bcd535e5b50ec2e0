/* What an input costs the target: memory and processor time, each with a limit that grows with the size of the input. An input
 * that costs more is a way to stall or exhaust a daemon with few bytes. */
#ifndef SONDE_TESTS_FUZZ_COST_H
#define SONDE_TESTS_FUZZ_COST_H

#include <stddef.h>
#include <stdint.h>

typedef int fuzz_target(const uint8_t *data, size_t size);

/* Runs the target; aborts with a message if the input costs too much. FUZZ_COST=print in the environment: instead, prints the
 * highest costs at the end. */
int cost_run(fuzz_target *target, const uint8_t *data, size_t size);

#endif
