/* Which jobs a pid or tid belongs to. Mostly it is one; a job that was told of inside another shares its tasks with it.
 * Emptied in no time and used again. */
#ifndef SONDE_PROC_OWNERS_H
#define SONDE_PROC_OWNERS_H

#include "proc/pidmap.h"

#define OWNERS_NONE UINT32_MAX

struct owner {
    uint32_t slot;   /* of the job */
    uint32_t serial; /* which of the jobs that had this slot */
    uint32_t value;
    uint32_t next; /* the next owner of the same pid, or OWNERS_NONE */
};

/* Zeroed: empty. */
struct owners {
    struct pidmap map; /* pid to its first owner */
    struct owner *list;
    size_t count, room;
};

void owners_clear(struct owners *owners); /* frees */
void owners_reset(struct owners *owners); /* empties, keeps the memory */

/* Adds the owner, or replaces its value. NOMEM. */
enum err owners_put(struct owners *owners, uint32_t pid, uint32_t slot, uint32_t serial, uint32_t value);

/* Place in list of the first owner of pid, or OWNERS_NONE. */
uint32_t owners_first(const struct owners *owners, uint32_t pid);

#endif
