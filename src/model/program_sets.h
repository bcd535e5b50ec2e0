/* Metric sets of program metrics: the programs' own counters, MPI calls, system calls. Produced by the agent and by sonde run,
 * saved in the job database, read by reports. Counters only increase, so that the last sample is the total; only the
 * kernel's system call counts start at 0 again when the agent restarts. */
#ifndef SONDE_MODEL_PROGRAM_SETS_H
#define SONDE_MODEL_PROGRAM_SETS_H

#include "model/batch.h"

/* A counter of programs, summed over all programs of the job (or node). Instance: name and labels in Prometheus syntax,
 * "cells_total{phase=\"solve\"}". */
enum { PROGRAM_COUNTER_TOTAL, PROGRAM_COUNTER_SIZE };
extern const struct set program_counter_set;

/* A gauge, over the running programs that have set it. Instance as above. */
enum { PROGRAM_GAUGE_SUM, PROGRAM_GAUGE_MIN, PROGRAM_GAUGE_MAX, PROGRAM_GAUGE_MEAN, PROGRAM_GAUGE_PROGRAMS, PROGRAM_GAUGE_SIZE };
extern const struct set program_gauge_set;

/* MPI calls of one function by one rank. Instance: "RANK/FUNCTION", "3/MPI_Send" (model/rank_name.h); "3/" is the whole
 * rank: calls and time are totals, life is the time between MPI_Init and MPI_Finalize (or now), world is the number of ranks
 * in MPI_COMM_WORLD, known or not, and threads is the number of threads that have called MPI (MPI_THREAD_MULTIPLE). */
enum {
    MPI_CALLS, MPI_TIME, MPI_BYTES_OUT, MPI_BYTES_IN, MPI_WAIT, MPI_SMALL, MPI_LIFE, MPI_WORLD,
    MPI_THREADS, MPI_SIZE,
};
extern const struct set mpi_set;

/* Point-to-point messages from one rank to another. Instance: "FROM>TO", ranks of MPI_COMM_WORLD. */
enum { MPI_PEER_MESSAGES, MPI_PEER_BYTES, MPI_PEER_SIZE };
extern const struct set mpi_peer_set;

/* System calls of a job. Instance: the name, "read"; for reads and writes also by type of file: "read/file:ext4",
 * "write/socket", "write/pipe" (included in the former). */
enum { SYSCALL_CALLS, SYSCALL_ERRORS, SYSCALL_BYTES, SYSCALL_TIME, SYSCALL_SIZE };
extern const struct set syscall_set;

/* Histogram of system call durations: bucket i has the calls that took less than 2^(8 + i) ns and are in no lower bucket; the
 * last one has all longer calls. Instance: the name of the call. */
enum { SYSCALL_BUCKETS = 24 };
extern const struct set syscall_time_set;

/* How the system calls of a job were counted, which determines what is missing. One sample at the start, and one for each
 * change. */
enum syscall_way {
    SYSCALL_WAY_NONE = 0,   /* not counted: the agent that counted has stopped, or the remaining processes are not covered */
    SYSCALL_WAY_KERNEL = 1, /* all of them, by eBPF */
    SYSCALL_WAY_LIBC = 2,   /* those made through functions of libc. Other reads and writes are in the
                             * instances "read/other" and "write/other", from /proc/PID/io */
    SYSCALL_WAY_PTRACE = 3, /* by ptrace: all, or those that syscalls/tracer_filter.h selects */
};
extern const struct set syscall_way_set;
void program_sets_add_way(struct batch *out, uint64_t time_ns, enum syscall_way way);

#endif
