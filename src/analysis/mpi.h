/* MPI statistics of a job: by function, by rank, by pair of ranks. Derived from analysis/job_metrics.c, for the
 * rules and the report. */
#ifndef SONDE_ANALYSIS_MPI_H
#define SONDE_ANALYSIS_MPI_H

#include "analysis/job_metrics.h"
#include "model/rank_name.h"

/* Totals over a set of calls. NAN: unknown. */
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
    double life_s;      /* from MPI_Init to MPI_Finalize; NAN: unknown, or only calls were counted */
    double world_ranks; /* size of its MPI_COMM_WORLD; NAN: unknown */
    double threads;     /* that called MPI, with MPI_THREAD_MULTIPLE; NAN: one at a time */
    double file_s;      /* in MPI-IO functions, without waiting for other ranks */
    double finalize_s;  /* in MPI_Finalize; NAN: unknown */
    bool is_ending;     /* it has called MPI_Finalize or the like */
    bool has_ended;     /* that call returned: the statistics are complete */
    bool is_late;       /* one of the ranks that the others wait for */
};

struct mpi_pair {
    struct rank_name from, to;
    bool is_elsewhere; /* to ranks of other worlds, whose numbers are unknown */
    double messages, bytes;
};

struct mpi {
    struct mpi_function *functions; /* most time first; most calls if times are unknown */
    struct mpi_rank *ranks;         /* by program, world and rank */
    struct mpi_pair *pairs;         /* most bytes first */
    size_t function_count, rank_count, pair_count;
    size_t unended_count; /* ranks that did not finish MPI: the time of their last call is unknown */
    double rank_total; /* ranks of the job, including those without data; NAN: unknown */
    struct mpi_sum all;
    double life_s;     /* of all ranks together; NAN: unknown for some */
    double messages, message_bytes; /* point to point; NAN: unknown */
    double messages_elsewhere, bytes_elsewhere; /* of those, between worlds; NAN: none */
    double requests_lost; /* requests whose bytes are not counted, since the probe's table of requests was full; NAN: none */

    /* For the ranks of the world that took the most time (all ranks, if there is only one): their own work (mpi_own_s).
     * NAN: times are unknown, or there are no ranks. */
    double own_mean_s, own_max_s;
    size_t longest;    /* index in ranks of the one with own_max_s */
    size_t late_count; /* ranks with about as much work as that one, which the others wait for; 0: none explains the waits */
    double others_wait_share; /* share of their time that the other ranks wait in MPI; NAN: no rank is late */
};

/* NOMEM. Without MPI there are no functions and no ranks. */
enum err mpi_read(struct mpi *mpi, const struct job_metrics *metrics);
void mpi_clear(struct mpi *mpi);

/* May several threads of the rank have been in MPI at once? Then the time in MPI is not comparable to its life_s. */
bool mpi_has_threads(const struct mpi_rank *rank);

/* time / life, NAN if unknown. */
double mpi_share(const struct mpi *mpi);

/* Time of a rank's own work: outside MPI, or in MPI-IO (NAN: unknown); and a phrase that says where that was. */
double mpi_own_s(const struct mpi_rank *rank);
const char *mpi_own_where(const struct mpi *mpi);

/* Phrase for the ranks that own_mean_s is about: "ranks", or "ranks of its world" if there are several worlds. */
const char *mpi_own_whose(const struct mpi *mpi);

/* Does the rank wait for others for more than this share of its life? False if unknown. */
bool mpi_waits(const struct mpi_rank *rank, double share);

#endif
