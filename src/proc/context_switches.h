/* Context switches of all observed threads, including exited ones. Threads that live only between two readings are
 * missed, and so is what a thread did between the last reading and its exit. */
#ifndef SONDE_PROC_CONTEXT_SWITCHES_H
#define SONDE_PROC_CONTEXT_SWITCHES_H

#include "proc/children.h"
#include "proc/pidmap.h"
#include "proc/taskfile.h"

/* Zeroed: empty. */
struct context_switches {
    struct taskfile_switches sum;
    struct taskfile_switches live; /* of the threads in this reading */
    struct pidmap maps[2]; /* tid to index in last, of this reading and the previous one */
    struct taskfile_switches *last[2];
    size_t capacities[2], count;
    unsigned now; /* which of the two is of this reading */
};

void context_switches_clear(struct context_switches *switches);

/* Call at the beginning of a reading. */
void context_switches_begin(struct context_switches *switches);

/* Adds one thread with its current counters. */
enum err context_switches_add(struct context_switches *switches, uint32_t tid, const struct taskfile_switches *value);

#endif
