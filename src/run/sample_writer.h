/* Samples on their way into the spool: a set is described before its first sample. */
#ifndef SONDE_RUN_SAMPLE_WRITER_H
#define SONDE_RUN_SAMPLE_WRITER_H

#include "model/batch.h"
#include "run/spool_writer.h"

#define SAMPLE_WRITER_SETS_MAX 64

struct sample_writer {
    struct writer *writer; /* borrowed */
    struct buf values;
    struct set sets[SAMPLE_WRITER_SETS_MAX]; /* described in the spool already; their place is their number */
    size_t set_count;
    uint64_t first; /* number of the first set: another writer may have been at the spool before; 0 unless set */
};

void sample_writer_init(struct sample_writer *out, struct writer *writer);
void sample_writer_clear(struct sample_writer *out);

/* One record for each sample. Sets are known again by the addresses of their texts, which stay. */
void sample_writer_add(struct sample_writer *out, const struct batch *batch);

#endif
