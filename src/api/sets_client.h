/* What an agent holds, read from its answer at /sets: for sonde ls. */
#ifndef SONDE_API_SETS_CLIENT_H
#define SONDE_API_SETS_CLIENT_H

#include "base/buf.h"
#include "model/batch.h"

/* One set of one instance of one job, or of the node. */
struct sets_item {
    const struct set *schema;
    const char *host;     /* where it was read: not NULL when that is another than the one that holds it */
    const char *instance; /* "": there is but one */
    const char *job;      /* NULL: of the node */
    const char *user;     /* NULL: not known */
    uint32_t uid;         /* UINT32_MAX: not known */
    uint64_t time_ns, first_ns, updates, period_ns;
    union value *values;  /* schema->size of them; NULL: they were not asked for */
    uint8_t *known;
};

/* Owns all that the items point to. */
struct sets_answer {
    const char *host;
    struct set **schemas; /* metrics NULL: they were not asked for */
    size_t schema_count;
    struct sets_item *items;
    size_t count;
    struct sets_piece *pieces; /* of memory */
};

/* Takes any text. CORRUPT: it is no such answer; NOMEM. */
enum err sets_client_read(struct sets_answer *sets, const char *text, size_t size);
void sets_client_clear(struct sets_answer *sets);

#endif
