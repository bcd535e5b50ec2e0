/* Context switches of all threads that were seen, added up over their lives. A thread that lives between two readings
 * is not seen; what a thread did between the last reading and its end is missing. */
#ifndef SONDE_PROC_CONTEXT_SWITCHES_H
#define SONDE_PROC_CONTEXT_SWITCHES_H

#include "proc/children.h"
#include "proc/pidmap.h"
#include "proc/taskfile.h"

/* Zeroed: nothing yet. */
struct context_switches {
    struct taskfile_switches sum;
    struct taskfile_switches live; /* of the threads of this reading alone */
    struct pidmap maps[2]; /* tid to place in last: of this reading and of the one before */
    struct taskfile_switches *last[2];
    size_t capacities[2], count;
    unsigned now; /* which of the two is this reading's */
};

void context_switches_clear(struct context_switches *switches);

/* At the beginning of a reading. */
void context_switches_begin(struct context_switches *switches);

/* One thread and what its counters say now. */
enum err context_switches_add(struct context_switches *switches, uint32_t tid, const struct taskfile_switches *value);

#endif
