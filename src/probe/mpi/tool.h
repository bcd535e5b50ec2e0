/* Support for another profiling tool that comes after us in symbol lookup order. It keeps the MPI_ functions that it
 * defines, and we count around them: the tool may pass a call on to our PMPI_ function, which is then nested, or
 * directly to MPI (dlsym with RTLD_NEXT). */
#ifndef SONDE_PROBE_MPI_TOOL_H
#define SONDE_PROBE_MPI_TOOL_H

#include "probe/mpi/backend.h"
#include "probe/mpi/call.h"

/* Entry point for the program's calls of a function that a tool defines: calls the wrapper, which continues with
 * tool_pick. */
any_function tool_enter(uint32_t function);

/* Takes the place of MPI's own function in the wrapper: the tool's function for the program's call that has just
 * entered, else MPI's. */
any_function tool_pick(uint32_t function);

/* Puts the wrapper of a function around that of a tool. Returns what the program should call: the tool itself if the
 * wrapper cannot forward all arguments. */
any_function tool_wrap(uint32_t function, any_function tool, bool only_counts);

#endif
