/* What survives a restart of the agent: a file next to the metrics segments, with those counts of jobs that cannot
 * be read from a segment again. A new agent reads the segments of live programs from their beginning, and takes the rest
 * from here, so that the sums of a job continue:
 * - what ended programs had counted, and what clients of tau have reported in messages (cell.saved);
 * - the segments that were read to their end but are not removed yet: they must not be read again;
 * - what live programs had counted elsewhere before they came into their jobs (baseline.h);
 * - the same of MPI ranks (mpi_rank_sums.h, mpi_ranks.h) and of the numbers of their programs (mpi_worlds.h).
 * Only jobs are saved. The file is of one boot of the node: it is ignored after a reboot. */
#ifndef SONDE_APPMETRICS_SAVED_STATE_H
#define SONDE_APPMETRICS_SAVED_STATE_H

#include "base/file.h"
#include "appmetrics/baseline.h"

/* --- the content; under the registry's lock --- */

/* A program has ended: what it counted in the cell is saved from now on. */
void saved_state_add_contribution(struct registry *registry, const struct contribution *contribution);

/* A counter that is in no segment was incremented. */
void saved_state_add(struct registry *registry, struct cell *cell, double increment);

/* --- the file: these in this order, with the parts of baseline.h before the ranks --- */

void saved_state_begin(struct buf *file);
void saved_state_write_segment(struct buf *file, const char *name, uint64_t inode); /* name: below the directory */
bool saved_state_write_jobs(struct registry *registry, struct buf *file);           /* false: there are none */
bool saved_state_write_ranks(const struct registry *registry, struct buf *file);    /* likewise */

/* Adds what is in the file to the registry and to baselines, and calls on_segment for each segment in it. CORRUPT:
 * what was read before the damage counts; ABSENT: it is of another format or another boot. registry NULL: only the
 * segments. */
typedef void saved_state_on_segment(void *context, const char *name, uint64_t inode);
enum err saved_state_read(struct registry *registry, struct bytes file, struct baselines *baselines,
                          saved_state_on_segment *on_segment, void *context);

/* --- loading and saving; these take the lock --- */

/* What the reader of segments adds to the file, and takes out of it. */
struct saved_state_segments {
    bool (*write)(void *context, struct buf *file); /* saved_state_write_segment of each finished one; false: there are none */
    bool (*write_baselines)(void *context, struct buf *file, bool of_ranks); /* under the lock; false: there are none */
    struct baselines *baselines;
    saved_state_on_segment *on_segment;
    void *context;
};

struct saved_state_file {
    struct registry *registry;   /* borrowed */
    char path[FILE_PATH_MAX];    /* "": nothing is saved */
    uint64_t next_save_ns;       /* CLOCK_MONOTONIC */
    bool has_logged_failure;
};

/* Reads what an earlier agent has left: counts once for a registry, segments each time. segments NULL: none are read. */
void saved_state_load(struct saved_state_file *file, const struct saved_state_segments *segments);

/* Writes the file if something is new; false: not yet, since it was written just now. Saving takes at most a twentieth
 * of the time, except for the last one. */
bool saved_state_save(struct saved_state_file *file, const struct saved_state_segments *segments, bool is_last);

#endif
