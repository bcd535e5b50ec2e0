/* prctl and syscall: once a program restricts its system calls (probe/sandbox.h), the probe makes none in this
 * process. Its end is then recorded by the parent's wait and the kernel. In strict mode a process cannot exit
 * normally anyway. */
#include "probe/process/probe.h"
#include "probe/sandbox.h"

/* A child whose fork we did not see stops recording too. A vfork child silences its parent as well, which is better
 * than getting it killed. */
static void on_sandbox(enum sandbox sandbox)
{
    if (!sandbox || !probe_is_active())
        return;
    bool is_mine = probe_is_own_process();
    if (is_mine)
        unprobed_notify_leaving();
    if (is_mine || sandbox >= SANDBOX_FILTER)
        probe.is_sandboxed = true;
}

PROBE_EXPORT int prctl(int option, ...)
{
    long argument[4];
    SANDBOX_TAKE(argument, 4, option);
    on_sandbox(sandbox_of_prctl(option, argument[0]));
    return NEXT(prctl)(option, argument[0], argument[1], argument[2], argument[3]);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Allocators call this before anything else may be called, even dlsym: do not resolve the real one until the program
 * runs. */
PROBE_EXPORT long syscall(long number, ...)
{
    long argument[SANDBOX_ARGUMENTS];
    SANDBOX_TAKE(argument, SANDBOX_ARGUMENTS, number);
    on_sandbox(sandbox_of_call(number, argument));
    return sandbox_pass(probe.is_started ? NEXT(syscall) : NULL, number, argument);
}
#endif
