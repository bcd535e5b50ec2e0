/* The last value of counters, by host and job: Colmet reports perf counters and energies as differences. A sample
 * that is delivered twice yields the same differences. */
#ifndef SONDE_COMPAT_COLMET_LAST_VALUES_H
#define SONDE_COMPAT_COLMET_LAST_VALUES_H

#include "base/map.h"

#define COLMET_LAST_VALUES 24

struct colmet_last_entry {
    char *key;
    uint64_t hash;
    uint64_t stream;   /* another stream resets the counters */
    uint64_t time_ns;  /* of the values in now */
    uint64_t touched;  /* round of the last use */
    uint64_t now[COLMET_LAST_VALUES], before[COLMET_LAST_VALUES];
    uint32_t now_known, before_known; /* a bit per value */
};

struct colmet_last {
    struct map entries; /* by host, job and kind */
    size_t drop_at;     /* number of entries at which old ones are dropped */
    uint64_t round; /* incremented by the caller once per batch */
};

void colmet_last_clear(struct colmet_last *last);

/* The entry for host, job ("": the node) and kind of counters, for a sample at time_ns; added if it is new. NULL:
 * out of memory. Valid until the next call. */
struct colmet_last_entry *colmet_last_find(struct colmet_last *last, const char *host, const char *job, char kind,
                                           uint64_t stream, uint64_t time_ns);

/* The increase of value i since the previous sample; false: unknown, because there is none or the counter was reset. */
bool colmet_last_difference(struct colmet_last_entry *entry, size_t i, uint64_t value, uint64_t *difference);

#endif
