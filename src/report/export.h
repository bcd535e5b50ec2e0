/* Jobs, processes, threads and events of the job database as rows: what sonde export writes. */
#ifndef SONDE_REPORT_EXPORT_H
#define SONDE_REPORT_EXPORT_H

#include "sinks/row_writer.h"
#include "store/store.h"

/* Each starts the output, writes all rows, and ends it. Errors are the store's, or the stream's: GONE if the reader has
 * closed the pipe, FULL, IO. */
enum err export_jobs(struct store *store, const struct store_job *only, struct output *stream, enum row_writer_format format);
enum err export_processes(struct store *store, const struct store_job *job, struct output *stream, enum row_writer_format format);
enum err export_threads(struct store *store, const struct store_job *job, struct output *stream, enum row_writer_format format);
enum err export_events(struct store *store, const struct store_job *job, struct output *stream, enum row_writer_format format);

#endif
