/* Baselines: what live programs had counted before they came into the jobs that they are in. It is part of the totals
 * in their segments, which the next agent reads from their beginning, but it is not the jobs'. So it is saved, at the
 * end of the file of saved_state.h, and subtracted when the segment is read for the first time again. Under the
 * registry's lock. */
#ifndef SONDE_APPMETRICS_BASELINE_H
#define SONDE_APPMETRICS_BASELINE_H

#include "appmetrics/mpi_ranks.h"
#include "appmetrics/registry.h"

/* Of one segment, from the file. */
struct baseline;
void baseline_free(struct baseline **baseline);

/* Of segments that have not been opened yet. Zeroed at first. */
struct baselines {
    struct baseline *list;
};

void baselines_clear(struct baselines *baselines);

/* A program leaves a scope: notes what it has counted so far, and how much of that was in no job. */
void baseline_move(struct registry *registry, struct contribution *contribution);

/* The parts of the file: of segments that are being read, of those that have not been opened yet, the end; then the
 * same for their MPI ranks. False: there are none. */
bool baselines_write(struct buf *file, const char *name, uint64_t inode, struct contribution *const *contributions,
                     size_t count);
bool baselines_write_all(struct buf *file, const struct baselines *baselines);
bool baselines_write_ranks(struct buf *file, const char *name, uint64_t inode, const struct mpi_ranks *ranks);
bool baselines_write_all_ranks(struct buf *file, const struct baselines *baselines);
void baselines_write_end(struct buf *file);

/* Read these parts; what follows a damage (unpacker.bad) is left out. */
struct unpacker;
void baselines_read(struct baselines *baselines, struct unpacker *u);
void baselines_read_ranks(struct baselines *baselines, struct unpacker *u);

/* Takes the baseline of a segment that is opened out of the list; NULL: there is none. The caller frees it. */
struct baseline *baselines_take(struct baselines *baselines, const char *name, uint64_t inode);

/* Applies it to a new contribution, whose cell then gets only what comes on top. What was counted in no job is added
 * for the user. */
void baseline_apply(const struct baseline *baseline, struct registry *registry, struct contribution *contribution,
                    struct scope *user);

/* The same for its ranks, when its metrics are known. */
void baseline_apply_ranks(const struct baseline *baseline, struct mpi_ranks *ranks);

#endif
