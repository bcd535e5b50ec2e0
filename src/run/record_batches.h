/* Pages in which processes hold records back (spool/record_batch.h), read from outside. */
#ifndef SONDE_RUN_RECORD_BATCHES_H
#define SONDE_RUN_RECORD_BATCHES_H

#include "run/spool_writer.h"

/* Adds the records of all pages in the folder: of processes that were killed, and of those that are still there, which will write
 * them themselves later; a thread that is told of twice is one. Pages stay as they are. */
void held_pages_take(const char *folder, struct writer *writer);

#endif
