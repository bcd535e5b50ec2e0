/* Thins what goes upstream: a thread that reads the journal and writes one sample for each window of time and set, into a
 * second journal, which the uplink reads: of each host, under its name; and of each job over its hosts, under the name of
 * this collector. */
#ifndef SONDE_COLLECTOR_ROLLUP_H
#define SONDE_COLLECTOR_ROLLUP_H

#include "journal/journal.h"

struct rollup;

/* Borrowed until rollup_close. */
struct rollup_settings {
    struct journal *from, *to;
    const char *host;   /* our name */
    uint64_t window_ns; /* windows begin at multiples of it, since 1970 */
};

struct rollup_figures {
    uint64_t records, samples; /* taken */
    uint64_t windows;          /* given: records of the second journal */
    uint64_t late;             /* samples of windows that were closed already: they are not in */
    uint64_t hosts;
    uint64_t lag_bytes;
};

enum err rollup_open(struct rollup **rollup, const struct rollup_settings *settings);
void rollup_close(struct rollup **rollup); /* open windows are made again from the journal at the next start */
void rollup_figures(struct rollup *rollup, struct rollup_figures *figures);

#endif
