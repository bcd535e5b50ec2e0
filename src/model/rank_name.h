/* Names of MPI ranks in series: the rank in its MPI_COMM_WORLD, then "#" and the number of the program if several run side by
 * side, then "@" and the number of the world if the program spawned some. "3" is rank 3 of the first program and world, "3@1"
 * is in a spawned world, "3#2" in another program. Written by appmetrics, read by analysis/mpi.c. */
#ifndef SONDE_MODEL_RANK_NAME_H
#define SONDE_MODEL_RANK_NAME_H

#include "base/format.h"

#include <stdbool.h>

struct rank_name {
    uint32_t rank;
    uint32_t program; /* 1: the first */
    uint32_t world;   /* 0: the first */
};

/* Instead of a rank: ranks of other worlds, which have no number here. */
#define RANK_NAME_ELSEWHERE "elsewhere"

struct format_text rank_name_string(struct rank_name name);

/* Parses a name and moves *at after it. False: not a name. */
bool rank_name_read(const char **at, struct rank_name *name);

/* For people: "3", "3 of world 1", "3 of program 2", "3 of program 2, world 1". */
struct format_text rank_name_format(struct rank_name name);
struct format_text rank_name_world(struct rank_name name); /* "world 1", "program 2", "program 2, world 1"; "" */

/* By program, world and rank; like strcmp. */
int rank_name_compare(struct rank_name one, struct rank_name other);

static inline bool rank_name_same_world(struct rank_name one, struct rank_name other)
{
    return one.program == other.program && one.world == other.world;
}

#endif
