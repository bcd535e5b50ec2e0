/* The cloud at the start: bodies at rest in a unit cube. */
#include "particles.h"

#include <stdlib.h>

struct body *body_cloud(size_t count)
{
    struct body *bodies = calloc(count, sizeof *bodies);
    for (size_t i = 0; bodies && i < count; i++) {
        bodies[i].position = (struct vector){ random_next(), random_next(), random_next() };
        bodies[i].mass = 1.0 / (double)count;
    }
    return bodies;
}
