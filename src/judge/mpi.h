/* The MPI of a job in figures: by function, by rank, who talked to whom. From judge/told.c to the rules and the report. */
#ifndef SONDE_JUDGE_MPI_H
#define SONDE_JUDGE_MPI_H

#include "judge/told.h"
#include "model/rank_name.h"

/* What calls did. Times in s; NAN: not known. */
struct mpi_sum {
    double calls, time_s, out_bytes, in_bytes, wait_s, small;
};

struct mpi_function {
    const char *name; /* "MPI_Send" */
    struct mpi_sum sum;  /* over all ranks */
};

struct mpi_rank {
    struct rank_name name;
    struct mpi_sum sum; /* over all functions */
    double life_s;      /* between MPI_Init and MPI_Finalize */
    double world_ranks; /* how many its world has; NAN: not known */
};

struct mpi_pair {
    struct rank_name from, to;
    double messages, bytes;
};

struct mpi {
    struct mpi_function *functions; /* most time first; most calls where time is not known */
    struct mpi_rank *ranks;         /* by program, world and rank */
    struct mpi_pair *pairs;         /* most bytes first */
    size_t function_count, rank_count, pair_count;
    double rank_total; /* ranks that there were, also those that nobody saw; NAN: not known */
    struct mpi_sum all;
    double life_s;     /* of all ranks together */
    double messages, message_bytes; /* point to point; NAN: not known */
    double requests_lost; /* whose bytes are nowhere here, since the probe had no room to follow them; NAN: none */

    /* Of the ranks of the world that took most time, which are all ranks where there is one: what they did outside of MPI. NAN:
     * times are not known, or there are no ranks. */
    double own_mean_s, own_max_s;
    size_t longest;    /* in ranks: the one with own_max_s, for which the others wait */
    double others_wait_share; /* of the others' lives, that they waited in MPI */
};

/* NOMEM. A job without MPI has no functions and no ranks. */
enum err mpi_read(struct mpi *mpi, const struct told *told);
void mpi_clear(struct mpi *mpi);

/* time / life, NAN when not known. */
double mpi_share(const struct mpi *mpi);

/* Does the rank wait for others for more than share of its life? False when not known. */
bool mpi_waits(const struct mpi_rank *rank, double share);

#endif
