/* Runs of sonde run that come piece by piece from the agents of their hosts: put together in a folder, and filed in the store
 * when they are whole. Used by the thread of a sink that is a store. */
#ifndef SONDE_COLLECTOR_RUNS_H
#define SONDE_COLLECTOR_RUNS_H

#include "model/batch.h"
#include "sinks/sink_choice.h"

struct runs;

/* The same for a sink, in a folder of the journal's: runs go where its store is. *runs is NULL when it is no store. */
enum err runs_open_of(struct runs **runs, const struct sink_choice *choice, const char *journal_dir);
void runs_close(struct runs **runs);

/* Takes the next piece of a run; one that is here already does no harm. With the last one the run is filed: when this returns
 * OK it is in the store, or it is none that could be (then that is logged). Else it is to be tried again with the same piece;
 * why gets a sentence. As of struct outlet_settings. */
enum err runs_take(void *context, const struct batch_piece *piece, struct buf *why);

#endif
