/* One step in time. */
#include "particles.h"

void integrate_step(struct body *bodies, size_t count, double seconds)
{
    for (size_t i = 0; i < count; i++) {
        struct body *body = &bodies[i];
        body->velocity = vector_add(body->velocity, vector_scale(body->force, seconds / body->mass));
        body->position = vector_add(body->position, vector_scale(body->velocity, seconds));
    }
}
