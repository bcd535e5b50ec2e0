/* Runs of sonde run that arrive in pieces from the agents of their hosts: assembled in a directory, and saved to the
 * job database when complete. Used by the thread of a sink that is a store. */
#ifndef SONDE_COLLECTOR_RUN_ASSEMBLER_H
#define SONDE_COLLECTOR_RUN_ASSEMBLER_H

#include "model/batch.h"
#include "sinks/sink_choice.h"

struct run_assembler;

/* Creates one for a sink, in a directory of the journal: runs are saved where the sink's store is. *assembler is NULL
 * if the sink is not a store. */
enum err run_assembler_open_for_sink(struct run_assembler **assembler, const struct sink_choice *choice,
                                     const char *journal_dir);
void run_assembler_close(struct run_assembler **assembler);

/* Adds the next piece of a run; duplicates are ignored. With the last piece the run is saved: if this returns OK, it is
 * in the database, or it was rejected (which is logged). Otherwise it must be called again with the same piece; error
 * has a message. Signature as in struct sink_worker_settings. */
enum err run_assembler_add(void *context, const struct batch_piece *piece, struct buf *error);

#endif
