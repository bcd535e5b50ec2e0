/* The instances of a sensor that come and go (CPUs, disks, network devices), by name. Each has what its counters stood at.
 * They come in the same order at each reading, so one is looked for where it stood last. */
#ifndef SONDE_SAMPLERS_INSTANCES_H
#define SONDE_SAMPLERS_INSTANCES_H

#include "base/buf.h"

#include <stdint.h>

#define INSTANCE_NAME_MAX 40u /* so that all but the counters is in one line of a cache */

/* Stays where it is as long as it is in the table: samples borrow its name. */
struct instance {
    uint64_t last_reading; /* the reading in which it was there last */
    char name[INSTANCE_NAME_MAX];
    uint8_t name_size;
    bool is_new; /* just made: decide on is_wanted and set to false */
    bool is_wanted;
    uint64_t last[]; /* values of them, zeroed at first */
};

struct instances {
    struct instance **all;
    size_t count, capacity, values, max;
    size_t expected;
    uint64_t reading;
};

/* values: of each instance. max: of instances at a time; those that are too many are not there. */
void instances_init(struct instances *instances, size_t values, size_t max);
void instances_clear(struct instances *instances);

/* A reading begins. */
void instances_begin(struct instances *instances);

/* By its name, made if need be; it then takes the place of one that is gone for two readings, where there is one. NULL: no
 * name, too many, or no memory. Valid until the reading after next in which it is not there. */
struct instance *instances_find(struct instances *instances, struct bytes name);

#endif
