/* One board of a program: what it shows is read and goes into the table of programs, as far as it has changed; what it counts
 * of MPI, with the rank, is kept for samples. For segments.c. */
#ifndef SONDE_APPMETRICS_SEGMENT_IMPORT_H
#define SONDE_APPMETRICS_SEGMENT_IMPORT_H

#include "appmetrics/baseline.h"
#include "appmetrics/program_job.h"
#include "appmetrics/ranks.h"
#include "appmetrics/segment_reader.h"

struct segment_import {
    struct segment_reader *reader;
    struct program_scope *scope; /* NULL: not yet in any */
    enum program_word word;      /* by which it is there */
    struct program_asked asked;  /* whether it is in another one now */
    struct program_hold **holds; /* by place; NULL: it could not be taken */
    size_t hold_count, hold_room;
    struct program_base *base;   /* of an agent before, for the first reading; NULL: none. Taken */
    bool has_base;               /* it has moved: baseline.h */
    struct program_ranks ranks;
    uint64_t lost;    /* of what found no room there, told so far */
    bool has_refused; /* a metric whose name was in use with another type: it is tried again, */
    uint64_t tried_ns; /* not before a while has passed since then */
    bool is_gone;     /* the program is; it was read for the last time */
    bool is_bad;      /* from some point on it was no board: what was read before counts */
    bool is_silent;   /* somebody else writes its samples */
};

/* The reader's errors: AGAIN, it is being made; CORRUPT; others. Nothing is taken yet. */
enum err segment_import_open(struct segment_import *board, const char *path);

/* Reads it, and puts what is new into the table. root: of /proc. Takes the table's lock. jobs NULL: all is the node's. */
void segment_import_update(struct segment_import *board, struct program_table *table, const struct program_jobs *jobs,
                        const char *root);

/* Its job is over: what it counts from now on is its user's. Without memory it stays where it is. Under the table's lock. */
void segment_import_leave_job(struct segment_import *board, struct program_table *table);

/* The program leaves: what it counted stays. Takes the table's lock. */
void segment_import_close(struct segment_import *board, struct program_table *table);

#endif
