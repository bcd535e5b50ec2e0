/* What a system call costs more under ptrace, measured on a child of ours: for the warning, and to tell the calls' own time
 * from that of the stops. */
#ifndef SONDE_SYSCALLS_TRACER_COST_H
#define SONDE_SYSCALLS_TRACER_COST_H

#include "base/err.h"

#include <stdint.h>

struct tracer_cost {
    uint64_t bare_ns;   /* a call that does nothing, alone */
    uint64_t traced_ns; /* the same, with both of its stops */
    uint64_t own_ns;    /* between a tracer's two stops of it, less bare_ns: what is not the call's own time */
};

/* Takes about 10 ms. Whatever fails: ptrace is not to be had here. */
enum err tracer_cost_measure(struct tracer_cost *cost);

#endif
