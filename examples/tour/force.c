/* Gravity between all pairs, softened so that close pairs do not fly apart. */
#include "particles.h"

#include <math.h>

#define SOFTENING 1e-3

void force_compute(struct body *bodies, size_t count, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct vector sum = { 0, 0, 0 };
        for (size_t k = 0; k < count; k++) {
            struct vector way = vector_subtract(bodies[k].position, bodies[i].position);
            double square = vector_dot(way, way) + SOFTENING;
            sum = vector_add(sum, vector_scale(way, bodies[k].mass / (square * sqrt(square))));
        }
        bodies[i].force = vector_scale(sum, bodies[i].mass);
    }
}
