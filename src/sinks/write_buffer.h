/* What has come and is not filed yet: rows of series, by host, job, set and instance; and the jobs on hosts that they belong
 * to. Gathered by sinks/store.c, which files it now and then. */
#ifndef SONDE_SINKS_WRITE_BUFFER_H
#define SONDE_SINKS_WRITE_BUFFER_H

#include "model/batch.h"
#include "model/set.h"
#include "store/append.h"

/* The batch that a row came with. */
struct growing_mark {
    size_t stream; /* a number of the caller's */
    uint64_t sequence;
};

/* One series and its rows that are not filed yet. */
struct growing_track {
    struct growing_track *next_in_slot, *next_of_run;
    struct growing_run *run;
    uint64_t hash;
    struct set_address address; /* of the set that it was met with last */
    const struct set *pooled;    /* its set: series.set is a copy of the struct */
    struct run_series series;    /* its arrays and its instance owned */
    struct growing_mark *marks;  /* of each row */
    size_t room;                 /* rows */
    struct grow_track place;     /* in the store */
    bool is_placed;
};

/* A job on a host, or the host itself. */
struct growing_run {
    struct growing_run *next_in_slot, *next;
    uint64_t hash;
    char *host, *id;       /* id NULL: the host */
    struct job job;        /* its texts owned by texts */
    char *texts;
    struct grow_run facts; /* host and job are set when it is filed */
    struct growing_track *tracks;
    int64_t job_row, row;  /* in the store; 0: not yet */
    bool is_dirty;         /* the rows of the run are to be written anew */
    uint64_t written_ns;   /* facts.end_ns when they were */
    bool has_ended;        /* once it is filed, it is forgotten */
};

struct growing {
    struct growing_run *runs; /* all */
    struct growing_run **run_slots;
    struct growing_track **track_slots;
    size_t run_count, run_slot_count, track_count, track_slot_count;
    uint64_t bytes; /* of the rows that are not filed */
};

void growing_init(struct growing *growing);
void growing_clear(struct growing *growing);

/* Takes over all of batch but its gaps; its rows are marked with this number of its stream. NOMEM: part of it was taken. */
enum err growing_take(struct growing *growing, const struct batch *batch, size_t stream);

/* Forgets rows of which is_there says that they need not be filed. */
void growing_drop(struct growing *growing, bool (*is_there)(const void *context, size_t stream, uint64_t sequence),
                  const void *context);

/* The rows were filed: forgets them and runs that have ended. */
void growing_filed(struct growing *growing);

/* Nothing of them is known of the store any longer: it was opened anew. */
void growing_forget_places(struct growing *growing);

#endif
