/* Measures the cost of ptrace per system call with a child process: for the warning, and to subtract it from call
 * times. */
#ifndef SONDE_SYSCALLS_TRACER_COST_H
#define SONDE_SYSCALLS_TRACER_COST_H

#include "base/err.h"

#include <stdint.h>

struct tracer_cost {
    uint64_t bare_ns;   /* a trivial call, untraced */
    uint64_t traced_ns; /* the same with both stops */
    uint64_t own_ns;    /* time between the tracer's two stops, minus bare_ns: overhead in a measured call time */
};

/* Takes about 10 ms. Any error: ptrace is not available. */
enum err tracer_cost_measure(struct tracer_cost *cost);

#endif
