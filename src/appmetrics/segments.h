/* Reads all metrics segments of a directory into the registry: finds them as they are created (inotify) or by listing
 * the directory, reads each at every tick and once more when its program has ended, then removes it. The agent's
 * directory is /dev/shm, with the segments of the node and, in directories of their own below it, those of each `sonde
 * run`. A run reads its own directory. */
#ifndef SONDE_APPMETRICS_SEGMENTS_H
#define SONDE_APPMETRICS_SEGMENTS_H

#include "model/batch.h"
#include "appmetrics/program_jobs.h"

struct segments;

struct segments_settings {
    const char *dir;            /* borrowed for the call */
    const char *root;           /* directory that contains /proc; borrowed */
    const char *socket;         /* only segments that name this socket (segment_format.h); "": all that are not for another
                                 * agent of this user. Borrowed for the call */
    struct registry *registry;  /* borrowed */
    struct program_jobs *jobs;  /* borrowed; NULL: all programs belong to one job, summed in the node's scope */
    bool is_run;                /* the directory is ours alone: nothing has to be claimed, and it has no subdirectories */
};

/* AGAIN: another agent reads them; ABSENT: there is no such directory; DENIED. */
enum err segments_open(struct segments **segments, const struct segments_settings *settings);

/* Does not remove the segments: the next agent continues with them. */
void segments_close(struct segments **segments);

/* Finds new segments and reads all. */
void segments_tick(struct segments *segments);

/* The job has ended: programs that are still in it count for their users from now on. Under the registry's lock. */
void segments_leave_job(struct segments *segments, const struct scope *scope);

/* Adds samples of MPI ranks that have changed. They borrow strings until segments_forget_finished. */
void segments_sample(struct segments *segments, struct batch *batch, uint64_t time_ns);

/* The last samples of programs that have ended were written: removes their segments. */
void segments_forget_finished(struct segments *segments);

size_t segments_count(const struct segments *segments);

#endif
