/* One line per step. */
#include "particles.h"

#include <stdio.h>

void output_print(size_t step, const struct body *bodies, size_t count)
{
    double kinetic = energy_kinetic(bodies, count), potential = energy_potential(bodies, count);
    printf("step %4zu  kinetic %.6f  potential %.6f  total %.6f\n", step, kinetic, potential, kinetic + potential);
}
