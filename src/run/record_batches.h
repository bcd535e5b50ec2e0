/* Reads the record batches of processes (spool/record_batch.h) from outside. */
#ifndef SONDE_RUN_RECORD_BATCHES_H
#define SONDE_RUN_RECORD_BATCHES_H

#include "run/spool_writer.h"

/* Adds the records of all batches in the directory: of processes that were killed, and of those still running, which
 * will write them again later (duplicate thread records are merged). The batches are left unchanged. */
void record_batches_read(const char *path, struct spool_writer *writer);

#endif
