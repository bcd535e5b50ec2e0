/* Threads for which a tracer waited: wait4 returns their tid as if it were a pid. */
#ifndef SONDE_MERGE_TRACER_WAITS_H
#define SONDE_MERGE_TRACER_WAITS_H

#include "merge/process_instance.h"

/* Empties each instance whose only record is a wait if a thread with that id exited at the same time. */
void tracer_waits_drop(struct process_instances *instances, const struct record_index *records);

#endif
