/* Changes bytes at random, the same way at each run. */
#ifndef SONDE_TESTS_FUZZ_MUTATE_H
#define SONDE_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* A few random changes of data in place; it may grow up to room. Returns the new size. */
size_t mutate(uint64_t *random, uint8_t *data, size_t size, size_t room);

#endif
