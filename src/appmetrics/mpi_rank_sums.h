/* What the ranks of a job did in MPI, summed over its programs: a job may start several, one after another or side by
 * side, and each has a rank 0. So each rank is one series, which only rises. From mpi_ranks.c to samples. */
#ifndef SONDE_APPMETRICS_MPI_RANK_SUMS_H
#define SONDE_APPMETRICS_MPI_RANK_SUMS_H

#include "base/map.h"
#include "model/batch.h"
#include "model/program_sets.h"

/* The sum for one function, one peer, or a rank as a whole. */
struct mpi_rank_sum {
    bool is_peer, is_changed;
    struct mpi_rank_sum *next_changed;
    uint64_t values[MPI_SIZE];
    uint64_t saved[MPI_SIZE]; /* the part from programs that have ended or moved to another job: saved_state.h */
    uint8_t known[MPI_SIZE];
    char instance[];          /* "0/MPI_Send", "0>3", "0/" */
};

/* Zeroed: empty. */
struct mpi_rank_sums {
    struct map by_instance;
    struct mpi_rank_sum *changed; /* list of sums changed since the last samples */
};

void mpi_rank_sums_clear(struct mpi_rank_sums *sums); /* frees */

/* Finds or creates the sum of this instance; its address stays valid until all are cleared. NULL: no memory, or a
 * million sums exist. */
struct mpi_rank_sum *mpi_rank_sums_get(struct mpi_rank_sums *sums, bool is_peer, const char *instance);

/* One program has counted value so far; last: its value in the previous call. Sizes (of worlds, numbers of threads)
 * are not summed: the largest is kept. */
void mpi_rank_sums_update(struct mpi_rank_sums *sums, struct mpi_rank_sum *sum, size_t at, uint64_t last, uint64_t value);

/* A program leaves the sum, to which it contributed to - from: that part is saved from now on. */
void mpi_rank_sums_leave(struct mpi_rank_sum *sum, size_t at, uint64_t from, uint64_t to);

/* The sums of a job in the file of saved_state.h. False: nothing to save. Reading stops at damaged data
 * (unpacker.bad). */
struct unpacker;
bool mpi_rank_sums_save(struct buf *file, const struct mpi_rank_sums *sums);
void mpi_rank_sums_read(struct mpi_rank_sums *sums, struct unpacker *u);

/* Adds samples of the sums that have changed. They borrow the instances. */
void mpi_rank_sums_sample(struct mpi_rank_sums *sums, struct batch *batch, uint64_t time_ns, const char *job);

#endif
