/* Maps a pid or tid to the jobs that it belongs to. Usually that is one; a job that was declared inside another shares
 * its tasks with it. Emptied in constant time and reused at each reading. */
#ifndef SONDE_PROC_PID_OWNERS_H
#define SONDE_PROC_PID_OWNERS_H

#include "proc/pidmap.h"

#define PID_OWNERS_NONE UINT32_MAX

struct pid_owner {
    uint32_t slot;   /* slot of the job */
    uint32_t serial; /* distinguishes the jobs that had this slot */
    uint32_t value;
    uint32_t next; /* next owner of the same pid, or PID_OWNERS_NONE */
};

/* Zeroed: empty. */
struct pid_owners {
    struct pidmap map; /* pid to the index of its first owner */
    struct pid_owner *list;
    size_t count, capacity;
};

void pid_owners_clear(struct pid_owners *owners); /* frees the memory */
void pid_owners_reset(struct pid_owners *owners); /* empties, keeps the memory */

/* Adds the owner or replaces its value. NOMEM. */
enum err pid_owners_put(struct pid_owners *owners, uint32_t pid, uint32_t slot, uint32_t serial, uint32_t value);

/* The index in list of the first owner of pid, or PID_OWNERS_NONE. */
uint32_t pid_owners_first(const struct pid_owners *owners, uint32_t pid);

#endif
