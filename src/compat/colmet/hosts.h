/* The content of a Colmet message: a batch per host, with the jobs it mentions. */
#ifndef SONDE_COMPAT_COLMET_HOSTS_H
#define SONDE_COMPAT_COLMET_HOSTS_H

#include "compat/colmet/records.h"

struct colmet_job {
    uint64_t number;
    char id[24];
    struct job job;
};

struct colmet_host {
    char name[COLMET_NAME_SIZE + 1];
    struct batch batch;
    struct colmet_job **jobs; /* allocated one by one, so that pointers stay valid */
    const struct job **list;  /* the same jobs, for the batch */
    size_t job_count, job_capacity;
};

struct colmet_records {
    struct colmet_host *hosts[COLMET_HOSTS_MAX];
    size_t count, made; /* in use; allocated */
};

void colmet_hosts_reset(struct colmet_records *records);
void colmet_hosts_clear(struct colmet_records *records);

/* The host of this name, added if it is new. NULL: *err is FULL, NOMEM, or CORRUPT (invalid name). */
struct colmet_host *colmet_hosts_get(struct colmet_records *records, struct bytes name, enum err *err);

/* The job of this number on the host, added if it is new; NULL: too many, or out of memory. is_involved: it is in
 * involved_jobs of a record. */
const struct colmet_job *colmet_hosts_job(struct colmet_host *host, uint64_t number, bool is_involved);

/* Call at the end of a message: completes the batches with hosts and jobs. */
void colmet_hosts_finish(struct colmet_records *records);

#endif
