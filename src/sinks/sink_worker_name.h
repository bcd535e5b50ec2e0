/* The names of the cursors that sinks have in a journal. */
#ifndef SONDE_SINKS_SINK_WORKER_NAME_H
#define SONDE_SINKS_SINK_WORKER_NAME_H

#include "sinks/sink_choice.h"

/* The name of the cursor of a choice: that of the sink and a hash of its settings, so that it is the same after a restart. */
void sink_worker_name(const struct sink_choice *choice, char name[64]);

/* Is a cursor of this name that of one of these, or no sink's at all? */
bool sink_worker_name_is_used(const char *name, const struct sink_choice *choices, size_t count);

#endif
