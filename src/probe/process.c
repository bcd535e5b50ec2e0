/* The preloaded probe: processes and threads. */
#include "wire/probe_env.h"

__attribute__((constructor)) static void probe_start(void)
{
}
