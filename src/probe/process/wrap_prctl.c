/* prctl and syscall: from the moment when a program restricts its system calls (probe/sandbox.h) the probe makes none in this
 * process: its end is told by the parent's wait and by the kernel. Strict mode ends a process at its exit anyway. */
#include "probe/process/probe.h"
#include "probe/sandbox.h"

/* A child of which we were not told goes quiet, too; one by vfork takes its parent along, which is better than to kill it. */
static void see(enum sandbox sandbox)
{
    if (!sandbox || !probe_on())
        return;
    bool is_mine = probe_mine();
    if (is_mine)
        dark_tell_leaving();
    if (is_mine || sandbox >= SANDBOX_FILTER)
        probe.quiet = true;
}

PROBE_EXPORT int prctl(int option, ...)
{
    long argument[4];
    SANDBOX_TAKE(argument, 4, option);
    see(sandbox_of_prctl(option, argument[0]));
    return NEXT(prctl)(option, argument[0], argument[1], argument[2], argument[3]);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Allocators call it where nothing else may be called yet, not even dlsym: until the program has started nobody is looked for. */
PROBE_EXPORT long syscall(long number, ...)
{
    long argument[SANDBOX_ARGUMENTS];
    SANDBOX_TAKE(argument, SANDBOX_ARGUMENTS, number);
    see(sandbox_of_call(number, argument));
    return sandbox_pass(probe.started ? NEXT(syscall) : NULL, number, argument);
}
#endif
