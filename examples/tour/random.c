/* A linear congruential generator: the same cloud in every run. */
#include "particles.h"

#include <stdint.h>

double random_next(void)
{
    static uint64_t state = 42;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / (double)(1ull << 53);
}
