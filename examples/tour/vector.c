/* Vectors in three dimensions. */
#include "particles.h"

struct vector vector_add(struct vector a, struct vector b)
{
    return (struct vector){ a.x + b.x, a.y + b.y, a.z + b.z };
}

struct vector vector_subtract(struct vector a, struct vector b)
{
    return (struct vector){ a.x - b.x, a.y - b.y, a.z - b.z };
}

struct vector vector_scale(struct vector v, double factor)
{
    return (struct vector){ v.x * factor, v.y * factor, v.z * factor };
}

double vector_dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
