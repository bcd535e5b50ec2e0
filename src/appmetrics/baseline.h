/* Baselines: what a live program had counted before it joined its current job. Segments hold totals since the start of
 * the program, so a restarted agent must subtract this part. It is saved at the end of the file of saved_state.h, and
 * applied when the segment is first read. Everything under the registry's lock. */
#ifndef SONDE_APPMETRICS_BASELINE_H
#define SONDE_APPMETRICS_BASELINE_H

#include "appmetrics/mpi_ranks.h"
#include "appmetrics/registry.h"

/* The baseline of one segment, as read from the file. */
struct baseline;
void baseline_free(struct baseline **baseline);

/* Baselines of segments that have not been opened yet. Zeroed: empty. */
struct baselines {
    struct baseline *list;
};

void baselines_clear(struct baselines *baselines);

/* Call when a program leaves a scope: records what it has counted so far, and how much of that in no job. */
void baseline_move(struct registry *registry, struct contribution *contribution);

/* Write the parts of the file in this order: metrics of each segment that is being read (baselines_write), of segments
 * not opened yet (_all), _end; then the same for MPI ranks. False: nothing to write. */
bool baselines_write(struct buf *file, const char *name, uint64_t inode, struct contribution *const *contributions,
                     size_t count);
bool baselines_write_all(struct buf *file, const struct baselines *baselines);
bool baselines_write_ranks(struct buf *file, const char *name, uint64_t inode, const struct mpi_ranks *ranks);
bool baselines_write_all_ranks(struct buf *file, const struct baselines *baselines);
void baselines_write_end(struct buf *file);

/* Read these parts; stop at damaged data (unpacker.bad). */
struct unpacker;
void baselines_read(struct baselines *baselines, struct unpacker *u);
void baselines_read_ranks(struct baselines *baselines, struct unpacker *u);

/* Removes the baseline of a segment from the list and returns it; NULL: none. The caller frees it. */
struct baseline *baselines_take(struct baselines *baselines, const char *name, uint64_t inode);

/* Applies the baseline to a new contribution, so that its cell gets only what exceeds it. The part that was counted in
 * no job is added to the user's cell. */
void baseline_apply(const struct baseline *baseline, struct registry *registry, struct contribution *contribution,
                    struct scope *user);

/* Applies it to the MPI ranks of the segment, after its metrics have been read. */
void baseline_apply_ranks(const struct baseline *baseline, struct mpi_ranks *ranks);

#endif
