/* An array in order of first appearance, searched from the position after the last hit. */
#include "samplers/instances.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void instances_init(struct instances *instances, size_t values, size_t max)
{
    *instances = (struct instances){ .values = values, .max = max };
}

void instances_clear(struct instances *instances)
{
    for (size_t i = 0; i < instances->count; i++)
        free(instances->all[i]);
    free(instances->all);
    *instances = (struct instances){ 0 };
}

void instances_begin(struct instances *instances)
{
    instances->reading++;
    instances->expected = 0;
}

static struct instance **find_expired(struct instances *instances)
{
    for (size_t i = 0; i < instances->count; i++)
        if (instances->all[i]->last_reading + 2 < instances->reading)
            return &instances->all[i];
    return NULL;
}

static struct instance **add_place(struct instances *instances)
{
    if (array_reserve(instances->all, instances->capacity, instances->count + 1, instances->max))
        return NULL;
    struct instance **place = &instances->all[instances->count];
    *place = malloc(sizeof **place + instances->values * sizeof *(*place)->last);
    instances->count += *place != NULL;
    return *place ? place : NULL;
}

static struct instance *create_instance(struct instances *instances, struct bytes name)
{
    struct instance **place = find_expired(instances);
    if (!place)
        place = add_place(instances);
    if (!place)
        return NULL;
    memset(*place, 0, sizeof **place + instances->values * sizeof *(*place)->last);
    memcpy((*place)->name, name.data, name.size);
    (*place)->name_size = (uint8_t)name.size;
    (*place)->is_new = (*place)->is_wanted = true;
    (*place)->last_reading = instances->reading;
    instances->expected = (size_t)(place - instances->all) + 1;
    return *place;
}

static bool has_name(const struct instance *instance, struct bytes name)
{
    return instance->name_size == name.size && !memcmp(instance->name, name.data, name.size);
}

struct instance *instances_find(struct instances *instances, struct bytes name)
{
    size_t count = instances->count, i = instances->expected;
    if (!name.size || name.size >= INSTANCE_NAME_MAX)
        return NULL;
    for (size_t tried = 0; tried < count; tried++, i++) {
        i = i < count ? i : 0;
        if (!has_name(instances->all[i], name))
            continue;
        instances->expected = i + 1;
        instances->all[i]->last_reading = instances->reading;
        return instances->all[i];
    }
    return create_instance(instances, name);
}
