/* Writes the series of a job, batch by batch, to a sink. */
#ifndef SONDE_REPORT_EXPORT_SERIES_H
#define SONDE_REPORT_EXPORT_SERIES_H

#include "sinks/sink.h"
#include "store/store.h"

struct export_choice {
    const struct store_job *job; /* NULL: the node */
    const char *node, *set;      /* set NULL: all sets */
};

/* state: of the opened sink. *found: number of series. Does not flush. */
enum err export_series(struct store *store, const struct export_choice *choice, const struct sink *sink, void *state,
                       size_t *found);

#endif
