/* How a rank is called in the series of MPI: its number in its MPI_COMM_WORLD; behind "#" which of the programs that ran beside
 * one another; behind "@" which of the worlds that the program spawned. "3" is rank 3 of the first program and world, "3@1" one
 * that was spawned, "3#2" one of another program. appmetrics/ranks.c writes it, analysis/mpi.c reads it. */
#ifndef SONDE_MODEL_RANK_NAME_H
#define SONDE_MODEL_RANK_NAME_H

#include "base/format.h"

#include <stdbool.h>

struct rank_name {
    uint32_t rank;
    uint32_t program; /* 1: the first */
    uint32_t world;   /* 0: the first */
};

/* In place of a rank: some of other worlds, which have no number here. */
#define RANK_NAME_ELSEWHERE "elsewhere"

struct format_text rank_name_string(struct rank_name name);

/* Reads one and leaves *at behind it. False: there is none. */
bool rank_name_read(const char **at, struct rank_name *name);

/* For people: "3", "3 of world 1", "3 of program 2", "3 of program 2, world 1". */
struct format_text rank_name_format(struct rank_name name);
struct format_text rank_name_world(struct rank_name name); /* "world 1", "program 2", "program 2, world 1"; "": the first of the first */

/* By program, world and rank; as strcmp. */
int rank_name_compare(struct rank_name one, struct rank_name other);

static inline bool rank_name_same_world(struct rank_name one, struct rank_name other)
{
    return one.program == other.program && one.world == other.world;
}

#endif
