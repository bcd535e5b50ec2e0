/* Which programs of MPI run beside one another in a scope (a job, a run, all programs outside of jobs), by numbers that are few:
 * one that has become free is used again, so that those who run one after another are summed up (rank_sums.h). For
 * ranks.c. */
#ifndef SONDE_APPMETRICS_MPI_WORLD_H
#define SONDE_APPMETRICS_MPI_WORLD_H

#include <stdbool.h>
#include <stdint.h>

struct program_worlds;
void program_worlds_free(struct program_worlds **worlds);

/* A rank of a program that lived between these times. */
struct program_life {
    uint64_t program;           /* as its board says; 0: not known */
    uint64_t begin_ns, end_ns;  /* CLOCK_REALTIME; UINT64_MAX: it goes on */
};

/* The number of the program, from 1: that of another rank of it; else the least that no program had at the same time. At most
 * PROGRAM_WORLDS_MAX, which all others share: names of series must not become more and more. 0: no memory. */
#define PROGRAM_WORLDS_MAX 64u
uint32_t program_worlds_number(struct program_worlds **worlds, const struct program_life *life);

/* The part of the file of state.h: which programs have which numbers. False: one alone has, the first. Takes it: programs
 * that live are met again. */
struct buf;
struct unpacker;
bool program_worlds_keep(struct buf *file, const struct program_worlds *worlds);
void program_worlds_take(struct program_worlds **worlds, struct unpacker *u);

/* A rank of the program with this number has ended. */
void program_worlds_end(struct program_worlds *worlds, uint32_t number, uint64_t end_ns);

#endif
