/* What a board counts of MPI, put together by function and by peer: samples of the sets mpi and mpi_peer of its rank, as far as
 * they have changed. From program_board.c to program_samples.c. */
#ifndef SONDE_PROGRAMS_PROGRAM_RANKS_H
#define SONDE_PROGRAMS_PROGRAM_RANKS_H

#include "model/program_sets.h"
#include "sample/board_reader.h"

/* One function, one peer, or the rank as a whole. */
struct program_rank_row {
    bool is_peer, is_changed;
    char *what;           /* "MPI_Send", "3"; "" */
    char *instance;       /* "0/MPI_Send", "0>3"; NULL: the rank was not known yet */
    uint64_t values[MPI_SIZE];
    uint8_t known[MPI_SIZE];
};

struct program_ranks {
    int32_t rank;         /* -1: not known, nothing is written */
    struct program_rank_row **rows; /* each stays where it is: the first one is the rank as a whole, if there is any */
    size_t count, room;
    uint32_t *places;     /* of the board: row << 8 | field + 1; 0: nothing of it */
    size_t place_count, place_room;
    uint64_t begin_ns, end_ns;
};

void program_ranks_clear(struct program_ranks *ranks);

/* The metric at that place of the board, at each reading in rising order. */
void program_ranks_take(struct program_ranks *ranks, size_t place, const struct board_value *value);

/* All of them were taken: sums up. */
void program_ranks_settle(struct program_ranks *ranks, const struct board_facts *facts, bool is_gone);

/* Adds the samples that have changed since, and takes them for told. They borrow instances until program_ranks_clear. */
void program_ranks_sample(struct program_ranks *ranks, struct batch *batch, uint64_t time_ns, const char *job);

#endif
