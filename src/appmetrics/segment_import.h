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
    struct scope *scope;                      /* scope of its program; NULL: unknown yet */
    enum program_job_source source;           /* how the scope was found */
    struct program_job_check check;           /* when the scope was last looked up */
    VEC(struct contribution *) contributions; /* by index of the metric in the segment; NULL: it was not accepted */
    struct baseline *baseline;                /* from an earlier agent, for the first reading; NULL: none. Owned */
    bool has_baseline;                        /* it has moved between scopes: baseline.h */
    struct mpi_ranks ranks;
    uint64_t lost;               /* metrics without space in the segment, as far as added to the registry's stats */
    bool has_conflict;           /* a name was in use with another type: is tried again from time to time */
    uint64_t conflict_tried_ns;  /* when it was last tried */
    bool is_finished;            /* the program has ended, and this was the last reading */
    bool is_bad;                 /* damaged from some point on: what was read before counts */
    bool is_sampled_elsewhere;   /* a run writes the samples of its ranks */
};

/* Errors of segment_reader_open: AGAIN, it is being created; CORRUPT; others. Nothing is read yet. */
enum err segment_import_open(struct segment_import *import, const char *path);

/* Reads it and adds what is new to the registry. root: directory that contains /proc. jobs NULL: everything is counted in
 * the node's scope. Takes the registry's lock. Errors of segment_reader_read. */
enum err segment_import_update(struct segment_import *import, struct registry *registry, const struct program_jobs *jobs,
                               const char *root);

/* Its job has ended: what it counts from now on is its user's. Without memory it stays. Under the registry's lock. */
void segment_import_leave_job(struct segment_import *import, struct registry *registry);

/* The program leaves the registry; what it counted stays. Takes the registry's lock. */
void segment_import_close(struct segment_import *import, struct registry *registry);

#endif
