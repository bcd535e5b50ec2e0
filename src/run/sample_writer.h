/* Writes samples to the spool: a set is described before its first sample. */
#ifndef SONDE_RUN_SAMPLE_WRITER_H
#define SONDE_RUN_SAMPLE_WRITER_H

#include "model/batch.h"
#include "run/spool_writer.h"

#define SAMPLE_WRITER_SETS_MAX 64

struct sample_writer {
    struct spool_writer *writer; /* borrowed */
    struct buf values;
    struct set sets[SAMPLE_WRITER_SETS_MAX]; /* already described in the spool; the index is the number */
    size_t set_count;
    uint64_t first; /* number of the first set: another writer may have used the lower ones; 0 unless set */
};

void sample_writer_init(struct sample_writer *out, struct spool_writer *writer);
void sample_writer_clear(struct sample_writer *out);

/* Writes one record per sample. Sets are identified by the addresses of their strings, which must stay valid. */
void sample_writer_add(struct sample_writer *out, const struct batch *batch);

#endif
