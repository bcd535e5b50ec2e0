/* Converts a batch to LDMS's rows, for sinks that write its columns. stat and stat_cpu become one set with a row for all CPUs
 * and one per CPU (procstat2); interrupts become one row with a column per interrupt and CPU (procinterrupts); self becomes
 * dstat. Samples of a node are repeated for each of its producers (compat/ldms/producer.h). */
#ifndef SONDE_COMPAT_LDMS_BATCH_H
#define SONDE_COMPAT_LDMS_BATCH_H

#include "compat/ldms/producer.h"
#include "model/batch.h"

#define LDMS_BATCH_WIDE 256 /* cached sets of interrupts, one per kind of node */

/* What LDMS writes in front of the values of a sample. */
struct ldms_row {
    const char *producer;
    const char *jobs; /* ids of its jobs, "4711 4712"; "": none */
    const char *user; /* of these jobs; NULL: none, or several */
    size_t index;     /* of the sample among those of its set and producer */
};

/* Starts zeroed. Memory is reused. */
struct ldms_batch {
    const char *producer; /* template, borrowed; NULL: LDMS_PRODUCER */
    struct batch batch;   /* the result; it owns samples, values and known */
    struct ldms_row *rows; /* one per sample of the result */
    struct sample *converted; /* before they are repeated for each producer */
    size_t capacity, rows_capacity, converted_count, converted_capacity, values_capacity;
    struct ldms_producers producers;
    struct ldms_wide *wide[LDMS_BATCH_WIDE], *retired;
};

/* The converted batch, borrowed until the next call. NOMEM. */
enum err ldms_batch_make(struct ldms_batch *ldms, const struct batch *batch, const struct batch **made);
void ldms_batch_clear(struct ldms_batch *ldms);

#endif
