/* Segments that nobody will read any more: of programs that were killed while no agent was running. An agent removes
 * those of all users. Without one, sonde run removes those of its user, and doctor reports them. */
#ifndef SONDE_APPMETRICS_SEGMENT_LEFTOVERS_H
#define SONDE_APPMETRICS_SEGMENT_LEFTOVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_LEFTOVERS_OLD_S (24 * 3600) /* neither an agent that restarts nor sonde submit needs them any more */

struct segment_leftovers {
    size_t count;    /* segments and directories of runs whose process has ended */
    uint64_t bytes;  /* memory used by the segments */
    size_t removed;
    bool is_claimed; /* an agent is running, and will read and remove them */
};

/* Finds those of this user in dir that were not written to for old_s seconds, or were left to an agent by a run; removes them if
 * may_remove and no agent is running. */
void segment_leftovers_find(const char *dir, uint64_t old_s, bool may_remove, struct segment_leftovers *leftovers);

#endif
