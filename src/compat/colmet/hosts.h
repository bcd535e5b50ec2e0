/* What a message of Colmet's becomes: a batch for each host in it, and the jobs that it tells of. */
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
    struct colmet_job **jobs; /* each stays where it is */
    const struct job **list;  /* the same, for the batch */
    size_t job_count, job_room;
};

struct colmet_records {
    struct colmet_host *hosts[COLMET_HOSTS_MAX];
    size_t count, made; /* in use; allocated */
};

void colmet_hosts_reset(struct colmet_records *records);
void colmet_hosts_clear(struct colmet_records *records);

/* The host of this name, new or not. NULL: FULL, NOMEM, or the name is none; *err says which (CORRUPT). */
struct colmet_host *colmet_hosts_get(struct colmet_records *records, struct bytes name, enum err *err);

/* The job of this number on the host; NULL: too many, or memory ran out. */
const struct colmet_job *colmet_hosts_job(struct colmet_host *host, uint64_t number);

/* When all is read: the batches get their hosts and jobs. */
void colmet_hosts_finish(struct colmet_records *records);

#endif
