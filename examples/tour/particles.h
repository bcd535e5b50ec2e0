/* Particles that attract each other: what the files of this example share. */
#ifndef PARTICLES_H
#define PARTICLES_H

#include <stddef.h>

struct vector {
    double x, y, z;
};

struct body {
    struct vector position, velocity, force;
    double mass;
};

struct options {
    size_t bodies;
    size_t steps;
    size_t threads;
};

/* Reads "particles [BODIES [STEPS]]". Returns 0 when the command line is wrong. */
int options_read(struct options *options, int argc, char **argv);

struct vector vector_add(struct vector a, struct vector b);
struct vector vector_subtract(struct vector a, struct vector b);
struct vector vector_scale(struct vector v, double factor);
double vector_dot(struct vector a, struct vector b);

/* The same numbers in every run. */
double random_next(void);

/* A cloud of count bodies, to be freed; NULL without memory. */
struct body *body_cloud(size_t count);

/* The forces on bodies[first] up to, not including, bodies[end]. */
void force_compute(struct body *bodies, size_t count, size_t first, size_t end);

void integrate_step(struct body *bodies, size_t count, double seconds);

double energy_kinetic(const struct body *bodies, size_t count);
double energy_potential(const struct body *bodies, size_t count);

void output_print(size_t step, const struct body *bodies, size_t count);

#endif
