/* Energies, which should stay nearly the same from step to step. */
#include "particles.h"

#include <math.h>

double energy_kinetic(const struct body *bodies, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += bodies[i].mass * vector_dot(bodies[i].velocity, bodies[i].velocity) / 2;
    return sum;
}

double energy_potential(const struct body *bodies, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            struct vector way = vector_subtract(bodies[k].position, bodies[i].position);
            sum -= bodies[i].mass * bodies[k].mass / sqrt(vector_dot(way, way) + 1e-3);
        }
    return sum;
}
