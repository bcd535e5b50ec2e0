/* What a counter was when it was last seen, of each host and job: Colmet tells counters of perf and energies as what came
 * together since the time before. A reading that comes a second time gives the same differences. */
#ifndef SONDE_COMPAT_COLMET_LAST_VALUES_H
#define SONDE_COMPAT_COLMET_LAST_VALUES_H

#include "base/map.h"

#define COLMET_LAST_VALUES 24

struct colmet_last_entry {
    char *key;
    uint64_t hash;
    uint64_t stream;   /* counters of another begin anew */
    uint64_t time_ns;  /* of now */
    uint64_t touched;  /* the round in which it was used last */
    uint64_t now[COLMET_LAST_VALUES], before[COLMET_LAST_VALUES];
    uint32_t now_known, before_known; /* bits */
};

struct colmet_last {
    struct map entries; /* by host, job and kind */
    size_t drop_at;     /* number of entries at which old ones are dropped */
    uint64_t round; /* moved on by whoever uses it, once for each batch */
};

void colmet_last_clear(struct colmet_last *last);

/* The entry of a host's job ("" for its node) and of a kind of counters, for a reading at time_ns; made where it is not there
 * yet. NULL: memory ran out. Valid until the next call. */
struct colmet_last_entry *colmet_last_find(struct colmet_last *last, const char *host, const char *job, char kind,
                                           uint64_t stream, uint64_t time_ns);

/* What has been added to value i since the reading before; false: not known, as it was not seen before or began anew. */
bool colmet_last_difference(struct colmet_last_entry *entry, size_t i, uint64_t value, uint64_t *difference);

#endif
