/* One metrics segment, and what of it is in the registry: reads it, and adds what has changed. What it counts of MPI
 * goes to the sums of its rank. For segments.c. */
#ifndef SONDE_APPMETRICS_SEGMENT_IMPORT_H
#define SONDE_APPMETRICS_SEGMENT_IMPORT_H

#include "appmetrics/baseline.h"
#include "appmetrics/mpi_ranks.h"
#include "appmetrics/program_jobs.h"
#include "appmetrics/segment_reader.h"

struct segment_import {
    struct segment_reader *reader;
    struct scope *scope;                      /* in which its program counts; NULL: not known yet */
    enum program_job_source source;           /* how that is known */
    struct program_job_check check;           /* when it was looked up last */
    VEC(struct contribution *) contributions; /* by index of the metric in the segment; NULL: it was not accepted */
    struct baseline *baseline;                /* from an earlier agent, for the first reading; NULL: none. Owned */
    bool has_baseline;                        /* it has moved between scopes: baseline.h */
    struct mpi_ranks ranks;
    uint64_t lost;               /* of what found no place in the segment: counted so far */
    bool has_conflict;           /* a name was in use with another type: try again, */
    uint64_t conflict_tried_ns;  /* ... but not before some time has passed since then */
    bool is_finished;            /* the program has ended, and this was the last reading */
    bool is_bad;                 /* damaged from some point on: what was read before counts */
    bool is_sampled_elsewhere;   /* a run writes the samples of its ranks */
};

/* Errors of segment_reader_open: AGAIN, it is being created; CORRUPT; others. Nothing is read yet. */
enum err segment_import_open(struct segment_import *import, const char *path);

/* Reads it and adds what is new to the registry. root: of /proc. jobs NULL: everything counts for the node. Takes the
 * registry's lock. */
void segment_import_update(struct segment_import *import, struct registry *registry, const struct program_jobs *jobs,
                           const char *root);

/* Its job has ended: what it counts from now on is its user's. Without memory it stays. Under the registry's lock. */
void segment_import_leave_job(struct segment_import *import, struct registry *registry);

/* The program leaves the registry; what it counted stays. Takes the registry's lock. */
void segment_import_close(struct segment_import *import, struct registry *registry);

#endif
