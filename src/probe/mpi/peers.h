/* Who sent how much to whom: messages and bytes from this rank to each other one of the world, one to one. Sparse: a rank to
 * which nothing was sent has no metric. */
#ifndef SONDE_PROBE_MPI_PEERS_H
#define SONDE_PROBE_MPI_PEERS_H

#include <stdint.h>

void peers_add(int rank, uint64_t messages, uint64_t bytes);

#endif
