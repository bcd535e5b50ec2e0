/* The first process of another pid namespace: it calls itself pid 1, its parent waits for it under another pid. */
#ifndef SONDE_MERGE_PIDNS_INIT_H
#define SONDE_MERGE_PIDNS_INIT_H

#include "merge/process_instance.h"

#define INITS_PID 1

/* Gives each life with pid 1 that nobody waited for the wait of the life that it is, when the kernel told nothing by which
 * the two could be known as one. The life that had only that wait is empty then: it has no events and no images. */
void inits_join(struct lives *lives, struct events *events);

#endif
