/* Another tool of this kind that stands behind us in the order of libraries. It keeps the MPI_ names that it has, and a call is
 * counted around it: what it passes on may come to us under the PMPI_ name, being within that call then, or may go to MPI
 * directly (dlsym with RTLD_NEXT). */
#ifndef SONDE_PROBE_MPI_TOOL_H
#define SONDE_PROBE_MPI_TOOL_H

#include "probe/mpi/backend.h"
#include "probe/mpi/call.h"

/* Where the program's call of a function goes that a tool has: to the wrapper, which goes on where tool_pick says. */
backend_any tool_enter(uint32_t function);

/* What stands in the place of MPI's own function for the wrapper: the tool's, for the call of the program that has just entered;
 * else MPI's. */
backend_any tool_pick(uint32_t function);

/* Puts the wrapper of a function around that of a tool. Returns what the program is to call: the tool itself where no wrapper
 * can hand all arguments on. */
backend_any tool_put(uint32_t function, backend_any tool, bool counts_alone);

#endif
