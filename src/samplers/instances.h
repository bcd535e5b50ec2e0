/* The instances of a sensor (CPUs, disks, network devices) by name, each with the last values of its counters.
 * Instances come and go, but appear in the same order at each reading, so the search starts where the previous one was
 * found. */
#ifndef SONDE_SAMPLERS_INSTANCES_H
#define SONDE_SAMPLERS_INSTANCES_H

#include "base/buf.h"

#include <stdint.h>

#define INSTANCE_NAME_MAX 40u /* keeps everything but the counters in one cache line */

/* Does not move while it is in the table: samples borrow its name. */
struct instance {
    uint64_t last_reading; /* the last reading in which it was present */
    char name[INSTANCE_NAME_MAX];
    uint8_t name_size;
    bool is_new; /* just created: the sampler sets is_wanted and clears this */
    bool is_wanted;
    uint64_t last[]; /* `values` elements, zeroed at first */
};

struct instances {
    struct instance **all;
    size_t count, capacity, values, max;
    size_t expected;
    uint64_t reading;
};

/* values: counters per instance. max: instances at a time; more than that are ignored. */
void instances_init(struct instances *instances, size_t values, size_t max);
void instances_clear(struct instances *instances);

/* Starts a reading. */
void instances_begin(struct instances *instances);

/* Finds an instance by name or creates it, reusing one that has been absent for two readings. NULL: empty or long name,
 * too many instances, or no memory. Valid until the second reading in which it is absent. */
struct instance *instances_find(struct instances *instances, struct bytes name);

#endif
