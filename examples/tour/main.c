/* Moves a cloud of bodies through time, with the forces computed by several threads. */
#include "particles.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 16

struct part {
    struct body *bodies;
    size_t count, first, end;
};

static void *compute(void *argument)
{
    struct part *part = argument;
    force_compute(part->bodies, part->count, part->first, part->end);
    return NULL;
}

static void compute_all(struct body *bodies, const struct options *options)
{
    pthread_t threads[THREADS_MAX];
    struct part parts[THREADS_MAX];
    for (size_t i = 0; i < options->threads; i++) {
        parts[i] = (struct part){ bodies, options->bodies, options->bodies * i / options->threads,
                                  options->bodies * (i + 1) / options->threads };
        pthread_create(&threads[i], NULL, compute, &parts[i]);
    }
    for (size_t i = 0; i < options->threads; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    struct options options;
    if (!options_read(&options, argc, argv)) {
        fprintf(stderr, "usage: particles [BODIES [STEPS]]\n");
        return 2;
    }
    struct body *bodies = body_cloud(options.bodies);
    if (!bodies)
        return 1;
    for (size_t step = 1; step <= options.steps; step++) {
        compute_all(bodies, &options);
        integrate_step(bodies, options.bodies, 1e-3);
        output_print(step, bodies, options.bodies);
    }
    free(bodies);
    return 0;
}
