/* The boards of a folder: found as they are made (inotify) and by looking, read at each tick and once more when their program is
 * gone, then removed. The agent's folder is /dev/shm with all boards of the node, those of sonde run in folders of their own
 * below it; sonde run's is its own. Into the table of programs. */
#ifndef SONDE_APPMETRICS_SEGMENTS_H
#define SONDE_APPMETRICS_SEGMENTS_H

#include "model/batch.h"
#include "appmetrics/program_job.h"

struct segments;

struct segments_settings {
    const char *folder;         /* borrowed for the call */
    const char *root;           /* of /proc; borrowed */
    const char *socket;         /* "": all boards that are not for another agent of ours; else those alone which name this socket
                                 * (appmetrics/segment_format.h); borrowed for the call */
    struct program_table *table; /* borrowed */
    struct program_jobs *jobs;  /* NULL: all that is counted is of one job, the node's own sums */
    bool is_run;                /* the folder is ours alone: no claim is made, and nothing else is looked for in it */
};

/* AGAIN: another agent reads them; ABSENT: there is no such folder; DENIED. */
enum err segments_open(struct segments **boards, const struct segments_settings *settings);

/* What is there stays there, for whoever comes next. */
void segments_close(struct segments **boards);

/* Looks for new ones, reads all, removes those of programs that are gone. */
void segments_tick(struct segments *boards);

/* Programs that are in this job count for their users from now on. Under the table's lock. */
void segments_leave_job(struct segments *boards, const struct program_scope *scope);

/* Adds the samples of MPI that have changed; they borrow until segments_forget_finished. */
void segments_sample(struct segments *boards, struct batch *batch, uint64_t time_ns);

/* Forgets the boards of programs that are gone: their last samples were written. */
void segments_forget_finished(struct segments *boards);

size_t segments_count(const struct segments *boards);

#endif
