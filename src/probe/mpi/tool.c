/* A call of the program leaves a note that the wrapper's own call finds, so that functions without a tool know nothing of it. */
#include "probe/mpi/tool.h"

extern const struct backend sonde_mpi_backend;

static struct {
    backend_any wrapper, tool, own;
} around[FUNCTIONS];

static __thread __attribute__((tls_model("initial-exec"))) uint32_t entered; /* the function and 1; 0: none */

backend_any tool_enter(uint32_t function)
{
    entered = function + 1;
    return around[function].wrapper;
}

backend_any tool_pick(uint32_t function)
{
    if (entered != function + 1)
        return around[function].own;
    entered = 0;
    return around[function].tool;
}

backend_any tool_put(uint32_t function, backend_any tool, bool counts_alone)
{
    const struct backend_function *mine = &sonde_mpi_backend.functions[function];
    if (!mine->enter)
        return tool;
    around[function].wrapper = counts_alone ? mine->counting_around : mine->full;
    around[function].tool = tool;
    around[function].own = *mine->real;
    *mine->real = mine->pick;
    return mine->enter;
}
