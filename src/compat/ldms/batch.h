/* Converts the sets that LDMS lays out differently: stat and stat_cpu become one set with a row for all CPUs and one
 * per CPU (procstat2); interrupts become one row with a column per interrupt and CPU (procinterrupts). For sinks
 * that write LDMS's columns. */
#ifndef SONDE_COMPAT_LDMS_BATCH_H
#define SONDE_COMPAT_LDMS_BATCH_H

#include "model/batch.h"

#define LDMS_BATCH_WIDE 256 /* cached sets of interrupts, one per kind of node */

/* Starts zeroed. Memory is reused. */
struct ldms_batch {
    struct batch batch; /* the result; it owns samples, values and known */
    size_t capacity, values_capacity;
    struct ldms_wide *wide[LDMS_BATCH_WIDE], *retired;
};

/* The converted batch, borrowed until the next call; batch itself if there is nothing to convert. NOMEM. */
enum err ldms_batch_make(struct ldms_batch *ldms, const struct batch *batch, const struct batch **made);
void ldms_batch_clear(struct ldms_batch *ldms);

#endif
