/* What a board counts of MPI, put together by function and by peer of its rank, as far as it has changed. From
 * segment_import.c to the sums of its job (rank_sums.h). */
#ifndef SONDE_APPMETRICS_RANKS_H
#define SONDE_APPMETRICS_RANKS_H

#include "model/rank_name.h"
#include "appmetrics/rank_sums.h"
#include "appmetrics/mpi_world.h"
#include "appmetrics/segment_reader.h"

/* One function, one peer, or the rank as a whole. */
struct program_rank_row {
    bool is_peer, is_changed;
    char *what;           /* "MPI_Send", "3"; "" */
    struct program_rank_sum *sum; /* of which it is a part; NULL: of none yet */
    uint64_t values[MPI_SIZE];
    uint64_t summed[MPI_SIZE]; /* what of the values is in the sum, or was in another one before */
    uint64_t base[MPI_SIZE];   /* what of them was in another one */
    uint8_t known[MPI_SIZE];
};

struct program_ranks {
    struct program_worlds **worlds; /* of its scope; NULL: the rank is not known yet, nothing is written */
    struct rank_name name;
    bool has_ended;
    struct program_rank_row **rows; /* each stays where it is: the first one is the rank as a whole, if there is any */
    size_t count, room;
    uint32_t *places;     /* of the board: row << 8 | field + 1; 0: nothing of it */
    size_t place_count, place_room;
    uint64_t begin_ns, end_ns; /* from when to when it was there for sure */
    uint64_t gone_ns;          /* when it was there no more, or might still be */
    bool is_gone;
};

void program_ranks_clear(struct program_ranks *ranks);

/* The metric at that place of the board, at each reading in rising order. */
void program_ranks_take(struct program_ranks *ranks, size_t place, const struct segment_value *value);

/* All of them were taken: sums up. Always with the same worlds, which stay at least as long as the ranks. True: it was found just
 * now that its program runs beside another one, which the next agent must know. */
bool program_ranks_settle(struct program_ranks *ranks, const struct segment_info *facts, bool is_gone,
                          struct program_worlds **worlds);

/* From now on they are of another scope, with other worlds and sums, which have what comes from here on. */
void program_ranks_move(struct program_ranks *ranks);

/* Adds what has changed since. Always to the same sums, which stay at least as long as the ranks. */
void program_ranks_sum(struct program_ranks *ranks, struct program_rank_sums *sums);

/* The program has gone: what it has counted is kept in the sums. */
void program_ranks_leave(struct program_ranks *ranks);

/* The part of the file of state.h: what was in other sums before; false: nothing was. Takes it; and begins with it, once
 * the metrics of the board are there. */
bool program_ranks_keep(struct buf *file, const struct program_ranks *ranks);
void program_ranks_take_kept(struct program_ranks *base, struct unpacker *u);
void program_ranks_begin(struct program_ranks *ranks, const struct program_ranks *base);

#endif
