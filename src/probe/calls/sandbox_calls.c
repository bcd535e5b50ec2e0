/* prctl, and syscall for seccomp: once a program restricts its system calls (probe/sandbox.h), this library makes
 * none in this process. Metrics that already have their slots in memory continue to count, others do not.
 *
 * In strict mode, and with PR_SET_TSC, even reading the time stamp counter may be fatal: time is no longer measured. */
#include "probe/calls/calls.h"

#include "probe/sandbox.h"

bool calls_is_sandboxed;

static void on_sandbox(enum sandbox sandbox)
{
    if (!sandbox)
        return;
    calls_find_all();
    calls_is_sandboxed = true;
    if (sandbox == SANDBOX_STRICT)
        calls_mode = CALLS_COUNT;
}

static void on_prctl(long option, long argument)
{
    on_sandbox(sandbox_of_prctl(option, argument));
    if (option == PR_SET_TSC)
        calls_mode = CALLS_COUNT;
}

CALLS_EXPORT int prctl(int option, ...)
{
    int (*real)(int, ...) = (int (*)(int, ...))calls_real(FUNCTION_prctl);
    long argument[4];
    SANDBOX_TAKE(argument, 4, option);
    if (!real) {
        errno = ENOSYS;
        return -1;
    }
    on_prctl(option, argument[0]);
    return real(option, argument[0], argument[1], argument[2], argument[3]);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Allocators call this before anything else may be called, even dlsym: do not resolve the real function here. */
CALLS_EXPORT long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))atomic_load_explicit(&calls_next[FUNCTION_syscall],
                                                                        memory_order_relaxed);
    long argument[SANDBOX_ARGUMENTS];
    SANDBOX_TAKE(argument, SANDBOX_ARGUMENTS, number);
    if (number == SYS_prctl)
        on_prctl((int)argument[0], argument[1]);
    else
        on_sandbox(sandbox_of_call(number, argument));
    return sandbox_pass(real, number, argument);
}
#endif
