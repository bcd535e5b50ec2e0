/* Threads that a tracer waited for: to wait4 they are what processes are, and their tid is no pid. */
#ifndef SONDE_MERGE_TRACER_WAITS_H
#define SONDE_MERGE_TRACER_WAITS_H

#include "merge/process_instance.h"

/* Empties each life of which nothing is known but a wait, when a thread with that number ended at the same time. */
void traced_drop(struct lives *lives, const struct events *events);

#endif
