/* What one metrics segment counts of MPI: the counters of a program, put together by function and by peer of its rank.
 * From segment_import.c to the sums of the job (mpi_rank_sums.h). */
#ifndef SONDE_APPMETRICS_MPI_RANKS_H
#define SONDE_APPMETRICS_MPI_RANKS_H

#include "base/vec.h"
#include "model/rank_name.h"
#include "appmetrics/mpi_rank_sums.h"
#include "appmetrics/mpi_worlds.h"
#include "appmetrics/segment_reader.h"

/* One function, one peer, or the rank as a whole. */
struct mpi_rank_row {
    bool is_peer, is_changed;
    char *subject;             /* "MPI_Send", "3"; "": the rank as a whole */
    struct mpi_rank_sum *sum;  /* the sum that it is added to; NULL: none yet */
    uint64_t values[MPI_SIZE];
    uint64_t summed[MPI_SIZE]; /* the part of values that is in the sum, or was in an earlier one */
    uint64_t base[MPI_SIZE];   /* the part of values that was in an earlier one */
    uint8_t known[MPI_SIZE];
};

struct mpi_ranks {
    struct mpi_worlds **worlds;         /* worlds of its scope; NULL: the name is unknown yet, and nothing is summed */
    struct rank_name name;
    bool has_left;                      /* the worlds know that it has ended */
    VEC(struct mpi_rank_row *) rows;    /* the first one is the rank as a whole */
    VEC(uint32_t) fields;               /* by index of the metric in the segment: row << 8 | field + 1; 0: no MPI metric */
    uint64_t begin_ns, end_ns;          /* when it was running for certain */
    uint64_t gone_ns;                   /* when it had ended, or might be running still */
    bool is_finished;
};

void mpi_ranks_clear(struct mpi_ranks *ranks);

/* The metric with this index in the segment; at each reading in rising order. */
void mpi_ranks_add_value(struct mpi_ranks *ranks, size_t index, const struct segment_value *value);

/* Call when all metrics were added. worlds: those of its scope, borrowed as long as the ranks exist. True: its program
 * was found to run beside another one, and the new number has to be saved. */
bool mpi_ranks_finish_reading(struct mpi_ranks *ranks, const struct segment_info *info, bool is_finished,
                              struct mpi_worlds **worlds);

/* Adds what has changed to the sums, which must stay as long as the ranks, or until they move. */
void mpi_ranks_sum(struct mpi_ranks *ranks, struct mpi_rank_sums *sums);

/* The program moves to another scope: only what it counts from now on is added there. */
void mpi_ranks_move(struct mpi_ranks *ranks);

/* The program has ended: what it has counted is saved with the sums. */
void mpi_ranks_leave(struct mpi_ranks *ranks);

/* What the segment had counted in earlier scopes, in the file of saved_state.h. False: nothing to save. It is read into
 * base, and applied when the metrics of the segment are known. */
bool mpi_ranks_save(struct buf *file, const struct mpi_ranks *ranks);
void mpi_ranks_read(struct mpi_ranks *base, struct unpacker *u);
void mpi_ranks_apply_baseline(struct mpi_ranks *ranks, const struct mpi_ranks *base);

#endif
