/* Reduces what is sent upstream. A thread reads the journal and writes one sample per metric set and time window to a
 * second journal, which the uplink reads: for each host, under its name, and for each job over all its hosts, under the
 * name of this collector. */
#ifndef SONDE_COLLECTOR_ROLLUP_H
#define SONDE_COLLECTOR_ROLLUP_H

#include "journal/journal.h"

struct rollup;

/* Borrowed until rollup_close. */
struct rollup_settings {
    struct journal *from, *to;
    const char *host;   /* our name */
    uint64_t window_ns; /* windows start at multiples of it since the epoch */
};

struct rollup_figures {
    uint64_t records, samples; /* read */
    uint64_t windows;          /* written: records of the second journal */
    uint64_t late;             /* dropped samples, of windows that were already closed */
    uint64_t hosts;
    uint64_t lag_bytes;
};

enum err rollup_open(struct rollup **rollup, const struct rollup_settings *settings);
void rollup_close(struct rollup **rollup); /* open windows are computed again from the journal at the next start */
void rollup_figures(struct rollup *rollup, struct rollup_figures *figures);

#endif
