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
    uint64_t read_ns;     /* how long reading its sensor took; 0: unknown */
    const char *producer; /* LDMS's name of the host; NULL: the host name */
    const char *job_ids;  /* LDMS: the jobs it stands for, "4711 4712"; NULL: job */
    union value *values;  /* schema->size values; NULL: not requested */
    uint8_t *known;
};

/* A job on a host of the answer. */
struct sets_job {
    const char *host; /* NULL: the host of the answer */
    const char *id, *user;
};

/* Owns everything the items point to. */
struct sets_answer {
    const char *host;
    const char *producer; /* template of LDMS's producer names; NULL: none */
    uint32_t uid, gid;    /* of the agent or collector; UINT32_MAX: unknown */
    struct sets_job *jobs;
    size_t job_count;
    struct set **schemas; /* metrics NULL: not requested */
    size_t schema_count;
    struct sets_item *items;
    size_t count;
    struct sets_block *blocks; /* allocated memory */
};

/* Accepts any input. CORRUPT: not an answer of /sets; NOMEM. */
enum err sets_client_read(struct sets_answer *sets, const char *text, size_t size);

/* Memory that is freed by sets_client_clear. NULL: out of memory. */
void *sets_client_allocate(struct sets_answer *sets, size_t size);
void sets_client_clear(struct sets_answer *sets);

#endif
