/* What the ranks of a job did in MPI, summed over the programs that have the same rank: a job may start several, one after the
 * other or side by side, and each has a rank 0. So a series is one series, and only rises. From ranks.c to samples. */
#ifndef SONDE_APPMETRICS_RANK_SUMS_H
#define SONDE_APPMETRICS_RANK_SUMS_H

#include "model/batch.h"
#include "model/program_sets.h"

/* One function, one peer, or a rank as a whole. */
struct program_rank_sum {
    struct program_rank_sum *next_in_hash, *next_changed;
    bool is_peer, is_changed;
    uint64_t values[MPI_SIZE];
    uint64_t kept[MPI_SIZE]; /* of them what programs have counted that have gone, or are elsewhere now: state.h */
    uint8_t known[MPI_SIZE];
    char instance[]; /* "0/MPI_Send", "0>3", "0/" */
};

/* Zeroed: empty. */
struct program_rank_sums {
    struct program_rank_sum **hash;
    size_t count, room;
    struct program_rank_sum *changed; /* since they were sampled */
};

void program_rank_sums_clear(struct program_rank_sums *sums); /* frees */

/* The sum of that name, made when it is new; it stays where it is until all are cleared. NULL: memory ran out, or there are a
 * million. */
struct program_rank_sum *program_rank_sums_get(struct program_rank_sums *sums, bool is_peer, const char *instance);

/* value is what one program stands at, told what it stood at when this was called last. Of the sizes of worlds the greatest
 * stands. */
void program_rank_sums_move(struct program_rank_sums *sums, struct program_rank_sum *sum, size_t at, uint64_t told,
                            uint64_t value);

/* One program leaves the sum, in which it has counted from there to here. */
void program_rank_sums_leave(struct program_rank_sum *sum, size_t at, uint64_t from, uint64_t to);

/* The part of the file of state.h: what is kept of a job; false: nothing. Takes it; a damage (unpacker.bad)
 * ends that. */
struct unpacker;
bool program_rank_sums_keep(struct buf *file, const struct program_rank_sums *sums);
void program_rank_sums_take(struct program_rank_sums *sums, struct unpacker *u);

/* Adds those that have changed since. They borrow their instances. */
void program_rank_sums_sample(struct program_rank_sums *sums, struct batch *batch, uint64_t time_ns, const char *job);

#endif
