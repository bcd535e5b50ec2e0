/* The MPI of a job in figures: by function, by rank, who talked to whom. From analysis/program_metrics.c to the rules
 * and the report. */
#ifndef SONDE_ANALYSIS_MPI_H
#define SONDE_ANALYSIS_MPI_H

#include "analysis/program_metrics.h"
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
    double life_s;      /* between MPI_Init and MPI_Finalize; NAN: not known, or it counted calls alone */
    double world_ranks; /* how many its world has; NAN: not known */
    double threads;     /* that called MPI, where several may at a time; NAN: it was one at a time */
    double file_s;      /* in functions of files, waiting for other ranks left out */
    double finalize_s;  /* in MPI_Finalize; NAN: not known */
    bool is_ending;     /* it has called what ends MPI */
    bool has_ended;     /* MPI, well: what it did there is known to the end */
    bool is_late;       /* one of those for which the others wait */
};

struct mpi_pair {
    struct rank_name from, to;
    bool is_elsewhere; /* to ranks of other worlds, whose numbers are not known */
    double messages, bytes;
};

struct mpi {
    struct mpi_function *functions; /* most time first; most calls where time is not known */
    struct mpi_rank *ranks;         /* by program, world and rank */
    struct mpi_pair *pairs;         /* most bytes first */
    size_t function_count, rank_count, pair_count;
    size_t unended_count; /* ranks that were not seen to end MPI: what the calls took that they are or died in is not known */
    double rank_total; /* ranks that there were, also those that nobody saw; NAN: not known */
    struct mpi_sum all;
    double life_s;     /* of all ranks together; NAN: not known of all */
    double messages, message_bytes; /* point to point; NAN: not known */
    double messages_elsewhere, bytes_elsewhere; /* of those, from one world to another; NAN: none */
    double requests_lost; /* whose bytes are nowhere here, since the probe had no room to follow them; NAN: none */

    /* Of the ranks of the world that took most time, which are all ranks where there is one: what they did themselves
     * (mpi_own_s). NAN: times are not known, or there are no ranks. */
    double own_mean_s, own_max_s;
    size_t longest;    /* in ranks: the one with own_max_s */
    size_t late_count; /* ranks that did about as much as that one, for which the others wait; 0: that does not explain waiting */
    double others_wait_share; /* of the others' lives, that they waited in MPI; NAN: nobody is late */
};

/* NOMEM. A job without MPI has no functions and no ranks. */
enum err mpi_read(struct mpi *mpi, const struct told *told);
void mpi_clear(struct mpi *mpi);

/* May threads of the rank have been in MPI side by side? Then their time is no part of its life. */
bool mpi_has_threads(const struct mpi_rank *rank);

/* time / life, NAN when not known. */
double mpi_share(const struct mpi *mpi);

/* What a rank did itself, outside of MPI or on files, which MPI reads and writes for it (NAN: not known); and where that was, for
 * people. */
double mpi_own_s(const struct mpi_rank *rank);
const char *mpi_own_where(const struct mpi *mpi);

/* Whose mean that is, for people: "ranks", or "ranks of its world", that of the longest one, where there are others. */
const char *mpi_own_whose(const struct mpi *mpi);

/* Does the rank wait for others for more than share of its life? False when not known. */
bool mpi_waits(const struct mpi_rank *rank, double share);

#endif
