/* The first process of a pid namespace: it knows itself as pid 1, but its parent outside waits for it under another
 * pid. */
#ifndef SONDE_MERGE_PIDNS_INIT_H
#define SONDE_MERGE_PIDNS_INIT_H

#include "merge/process_instance.h"

#define PIDNS_INIT_PID 1

/* Gives each instance with pid 1 and no wait record the wait record of the instance that it really is, where no kernel
 * event connects the two. The other instance becomes empty: it has no records and no images. */
void pidns_init_join(struct process_instances *instances, struct record_index *records);

#endif
