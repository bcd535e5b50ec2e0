/* A map from pids to chains of owners in one array. */
#include "proc/pid_owners.h"

#include "base/vec.h"

#include <stdlib.h>

void pid_owners_clear(struct pid_owners *owners)
{
    pidmap_clear(&owners->map);
    free(owners->list);
    *owners = (struct pid_owners){ 0 };
}

void pid_owners_reset(struct pid_owners *owners)
{
    pidmap_reset(&owners->map);
    owners->count = 0;
}

enum err pid_owners_put(struct pid_owners *owners, uint32_t pid, uint32_t slot, uint32_t serial, uint32_t value)
{
    uint32_t first = pid_owners_first(owners, pid);
    for (uint32_t i = first; i != PID_OWNERS_NONE; i = owners->list[i].next)
        if (owners->list[i].slot == slot && owners->list[i].serial == serial) {
            owners->list[i].value = value;
            return OK;
        }
    enum err err = array_reserve(owners->list, owners->capacity, owners->count + 1, VEC_MAX);
    if (!err)
        err = pidmap_put(&owners->map, pid, (uint32_t)owners->count);
    if (!err)
        owners->list[owners->count++] = (struct pid_owner){ slot, serial, value, first };
    return err;
}

uint32_t pid_owners_first(const struct pid_owners *owners, uint32_t pid)
{
    return pidmap_get(&owners->map, pid);
}
