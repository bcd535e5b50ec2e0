/* Jobs, processes, threads and events of the store as rows: what sonde export writes. */
#ifndef SONDE_REPORT_EXPORT_H
#define SONDE_REPORT_EXPORT_H

#include "sinks/rows.h"
#include "store/store.h"

/* Each begins rows, writes all, and ends them. The error is the store's, or the stream's: GONE when nobody reads any
 * more, FULL, IO. */
enum err export_jobs(struct store *store, const struct store_job *only, struct stream *stream, enum rows_format format);
enum err export_processes(struct store *store, const struct store_job *job, struct stream *stream, enum rows_format format);
enum err export_threads(struct store *store, const struct store_job *job, struct stream *stream, enum rows_format format);
enum err export_events(struct store *store, const struct store_job *job, struct stream *stream, enum rows_format format);

#endif
