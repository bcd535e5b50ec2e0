/* The sets of what programs tell of themselves: their own counters, their MPI calls, their system calls. Made by the agent and
 * by sonde run, kept by the store, read by reports; numbers only grow, so that the last sample of each is the whole; but the
 * kernel's counts of system calls begin at 0 again in an agent that is started anew. */
#ifndef SONDE_MODEL_PROGRAM_SETS_H
#define SONDE_MODEL_PROGRAM_SETS_H

#include "model/batch.h"

/* A counter of programs, summed over all of them in the job (or on the node). Instance: its name and labels as Prometheus
 * writes them, "cells_total{phase=\"solve\"}". */
enum { PROGRAM_COUNTER_TOTAL, PROGRAM_COUNTER_SIZE };
extern const struct set program_counter_set;

/* A gauge, over the programs that are alive and have set it. Instance as above. */
enum { PROGRAM_GAUGE_SUM, PROGRAM_GAUGE_MIN, PROGRAM_GAUGE_MAX, PROGRAM_GAUGE_MEAN, PROGRAM_GAUGE_PROGRAMS, PROGRAM_GAUGE_SIZE };
extern const struct set program_gauge_set;

/* MPI calls of one function by one rank. Instance: "RANK/FUNCTION", "3/MPI_Send" (model/rank_name.h); "3/" is the rank as a
 * whole: its calls and time are the sums, its life is the time between MPI_Init and MPI_Finalize (or now), its world is the
 * number of ranks that there are, seen or not, and its threads are those that have called MPI, where several may at a time. */
enum {
    MPI_CALLS, MPI_TIME, MPI_BYTES_OUT, MPI_BYTES_IN, MPI_WAIT, MPI_SMALL, MPI_LIFE, MPI_WORLD,
    MPI_THREADS, MPI_SIZE,
};
extern const struct set mpi_set;

/* What one rank sent to another, point to point. Instance: "FROM>TO", ranks of MPI_COMM_WORLD. */
enum { MPI_PEER_MESSAGES, MPI_PEER_BYTES, MPI_PEER_SIZE };
extern const struct set mpi_peer_set;

/* System calls of a job. Instance: the call's name, "read"; for reads and writes also by what they went to:
 * "read/file:ext4", "write/socket", "write/pipe" (parts of the former, not more). */
enum { SYSCALL_CALLS, SYSCALL_ERRORS, SYSCALL_BYTES, SYSCALL_TIME, SYSCALL_SIZE };
extern const struct set syscall_set;

/* How long calls took: how many took less than 2^(8 + i) ns and not less than that of i - 1, each call in one; the last has all
 * that took longer. Instance: the call's name. */
enum { SYSCALL_BUCKETS = 24 };
extern const struct set syscall_time_set;

/* How the system calls of a job were counted, which says what is not among them. One sample, at the start; more where
 * that changed meanwhile. */
enum syscall_way {
    SYSCALL_WAY_NONE = 0,   /* nobody counts: the agent that did so for us has gone, or does not for what the command left */
    SYSCALL_WAY_KERNEL = 1, /* all of them, by eBPF */
    SYSCALL_WAY_LIBC = 2,   /* those that programs make through libc's functions. What else they read and wrote is in the
                             * instances "read/other" and "write/other": what the kernel counted (/proc/PID/io) beyond those */
    SYSCALL_WAY_PTRACE = 3, /* by stopping the program: all of them, or those that syscalls/tracer_filter.h does not free */
};
extern const struct set syscall_way_set;
void program_sets_add_way(struct batch *out, uint64_t time_ns, enum syscall_way way);

#endif
