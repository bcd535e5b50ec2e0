/* A batch with the sets that LDMS has in another shape: stat and stat_cpu are one set with a row for all CPUs and one for each
 * (procstat2), interrupts are one row with a column for each interrupt and CPU (procinterrupts). For sinks that write LDMS's
 * columns. */
#ifndef SONDE_COMPAT_LDMS_BATCH_H
#define SONDE_COMPAT_LDMS_BATCH_H

#include "model/batch.h"

#define LDMS_BATCH_WIDE 256 /* sets of interrupts that are kept: of as many kinds of nodes */

/* Zeroed at first. Grows to its high-water mark. */
struct ldms_batch {
    struct batch batch; /* what was made; samples, values and known are ours */
    size_t capacity, values_room;
    struct ldms_wide *wide[LDMS_BATCH_WIDE], *retired;
};

/* Another batch of the same host, jobs, events and gaps, borrowed until the next call; that one itself where nothing in it has
 * another shape. NOMEM. */
enum err ldms_batch_make(struct ldms_batch *ldms, const struct batch *batch, const struct batch **made);
void ldms_batch_clear(struct ldms_batch *ldms);

#endif
