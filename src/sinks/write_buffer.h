/* Rows that sinks/store.c has received and not yet written to the job database: series by host, job, metric set and
 * instance, and the runs (a job on a host, or a host itself) that they belong to. */
#ifndef SONDE_SINKS_WRITE_BUFFER_H
#define SONDE_SINKS_WRITE_BUFFER_H

#include "base/map.h"
#include "model/batch.h"
#include "model/set.h"
#include "store/append.h"

/* The batch that a row came from. */
struct write_buffer_batch {
    size_t stream; /* index in sinks/store_streams.h */
    uint64_t sequence;
};

/* One series and its unsaved rows. */
struct write_buffer_series {
    struct write_buffer_series *next_of_run;
    struct write_buffer_run *run;
    uint64_t hash;
    struct set_address address; /* of the set of the last sample: compared first, because it is cheap */
    const struct set *pooled;    /* shared with other series; rows.set is a copy of the struct */
    struct run_series rows;      /* owns its arrays and its instance */
    struct write_buffer_batch *batches;  /* one per row */
    size_t capacity;                 /* allocated rows */
    struct append_track place;     /* in the database */
    bool is_placed;
};

/* A job on a host, or the host itself. */
struct write_buffer_run {
    struct write_buffer_run *next;
    uint64_t hash;
    char *host, *id;       /* id NULL: the host itself */
    struct job job;        /* its strings owned by strings */
    char *strings;
    struct append_run facts; /* host and job are set when it is saved */
    struct write_buffer_series *series;
    int64_t job_row, row;  /* ids in the database; 0: none yet */
    bool is_dirty;         /* the row of the run must be updated */
    uint64_t written_ns;   /* facts.end_ns at the last update */
    bool has_ended;        /* freed after the next save */
};

struct write_buffer {
    struct write_buffer_run *runs; /* all */
    struct map runs_by_job; /* by host and job */
    struct map series;      /* by run, metric set and instance */
    uint64_t bytes; /* of the unsaved rows */
};

void write_buffer_init(struct write_buffer *buffer);
void write_buffer_clear(struct write_buffer *buffer);

/* Adds samples, jobs and events of batch; stream is the index of its stream. NOMEM: part of it was added. */
enum err write_buffer_add(struct write_buffer *buffer, const struct batch *batch, size_t stream);

/* Drops the rows that is_saved reports as already in the database. */
void write_buffer_drop(struct write_buffer *buffer, bool (*is_saved)(const void *context, size_t stream, uint64_t sequence),
                  const void *context);

/* Call after a commit: frees the rows, and the runs that have ended. */
void write_buffer_saved(struct write_buffer *buffer);

/* Call after the database was reopened: ids from before are invalid. */
void write_buffer_forget_rows(struct write_buffer *buffer);

#endif
