/* tool_enter leaves a mark that tool_pick finds, so that functions without a tool are unaffected. */
#include "probe/mpi/tool.h"

extern const struct backend sonde_mpi_backend;

static struct {
    any_function wrapper, tool, own;
} wrapped[FUNCTIONS];

static __thread __attribute__((tls_model("initial-exec"))) uint32_t entered; /* the function + 1; 0: none */

any_function tool_enter(uint32_t function)
{
    entered = function + 1;
    return wrapped[function].wrapper;
}

any_function tool_pick(uint32_t function)
{
    if (entered != function + 1)
        return wrapped[function].own;
    entered = 0;
    return wrapped[function].tool;
}

any_function tool_wrap(uint32_t function, any_function tool, bool only_counts)
{
    const struct backend_function *mine = &sonde_mpi_backend.functions[function];
    if (!mine->enter)
        return tool;
    wrapped[function].wrapper = only_counts ? mine->counting_tool : mine->full;
    wrapped[function].tool = tool;
    wrapped[function].own = *mine->real;
    *mine->real = mine->pick;
    return mine->enter;
}
