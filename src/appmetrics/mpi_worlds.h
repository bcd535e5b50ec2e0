/* Numbers of the MPI programs in a scope (a job, a run, or all programs in no job). Programs that run at the same time
 * need different numbers, since each has a rank 0; those that run one after another share a number, so that they are
 * summed (mpi_rank_sums.h) and the number of series stays small. For mpi_ranks.c. */
#ifndef SONDE_APPMETRICS_MPI_WORLDS_H
#define SONDE_APPMETRICS_MPI_WORLDS_H

#include <stdbool.h>
#include <stdint.h>

struct mpi_worlds;
void mpi_worlds_free(struct mpi_worlds **worlds);

/* When a rank of a program ran. */
struct mpi_lifetime {
    uint64_t program;           /* from its segment; 0: unknown */
    uint64_t begin_ns, end_ns;  /* CLOCK_REALTIME; UINT64_MAX: it is still running */
};

/* The number of the program, from 1: that of its other ranks, or the lowest one that no program had at the same time.
 * All above the maximum share the last one. 0: no memory. */
#define MPI_WORLDS_MAX 64u
uint32_t mpi_worlds_assign(struct mpi_worlds **worlds, const struct mpi_lifetime *lifetime);

/* A rank of the program with this number has ended. */
void mpi_worlds_end_rank(struct mpi_worlds *worlds, uint32_t number, uint64_t end_ns);

/* The numbers of a job in the file of saved_state.h. False: at most one number is in use, which need not be saved. */
struct buf;
struct unpacker;
bool mpi_worlds_save(struct buf *file, const struct mpi_worlds *worlds);
void mpi_worlds_read(struct mpi_worlds **worlds, struct unpacker *u);

#endif
