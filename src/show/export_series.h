/* The series of a job, batch by batch, into a sink. */
#ifndef SONDE_SHOW_EXPORT_SERIES_H
#define SONDE_SHOW_EXPORT_SERIES_H

#include "sink/sink.h"
#include "store/store.h"

/* state: of the sink, opened. set NULL: all sets. *found: how many series there were. Does not flush. */
enum err export_series(struct store *store, const struct store_job *job, const char *set, const struct sink *sink, void *state,
                       size_t *found);

#endif
