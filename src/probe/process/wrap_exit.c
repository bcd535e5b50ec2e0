/* Exits that run no on_exit handlers. libc's own exit() does not pass through here. */
#include "probe/process/probe.h"

#include <stdlib.h>

PROBE_EXPORT __attribute__((noreturn)) void _exit(int status)
{
    end_emit(status, false);
    if (NEXT(_exit))
        NEXT(_exit)(status);
    for (;;)
        sys1(SYS_exit_group, status);
}

PROBE_EXPORT __attribute__((noreturn)) void _Exit(int status)
{
    _exit(status);
}

/* The record lacks what at_quick_exit handlers use; the parent's wait has it. */
PROBE_EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
    end_emit(status, false);
    NEXT(quick_exit)(status);
    for (;;)
        sys1(SYS_exit_group, status);
}
