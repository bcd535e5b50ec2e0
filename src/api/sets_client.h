/* Reads the answer of GET /sets: the latest sample of each metric set, for `sonde ls`. */
#ifndef SONDE_API_SETS_CLIENT_H
#define SONDE_API_SETS_CLIENT_H

#include "base/buf.h"
#include "model/batch.h"

/* The latest sample of one instance of a metric set, of a job or of the node. */
struct sets_item {
    const struct set *schema;
    const char *host;     /* of the sample; NULL: the host of the answer */
    const char *instance; /* "": the only one */
    const char *job;      /* NULL: the node itself */
    const char *user;     /* NULL: unknown */
    uint32_t uid;         /* UINT32_MAX: unknown */
    uint64_t time_ns, first_ns, updates, period_ns;
    union value *values;  /* schema->size values; NULL: not requested */
    uint8_t *known;
};

/* Owns everything the items point to. */
struct sets_answer {
    const char *host;
    struct set **schemas; /* metrics NULL: not requested */
    size_t schema_count;
    struct sets_item *items;
    size_t count;
    struct sets_block *blocks; /* allocated memory */
};

/* Accepts any input. CORRUPT: not an answer of /sets; NOMEM. */
enum err sets_client_read(struct sets_answer *sets, const char *text, size_t size);
void sets_client_clear(struct sets_answer *sets);

#endif
