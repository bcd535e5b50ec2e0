/* prctl, and syscall for seccomp: from the moment when a program restricts its system calls (probe/sandbox.h) this library makes
 * none in this process: what has its place in memory by then is counted on, the rest is not.
 *
 * In strict mode, and where the program says so, reading the processor's clock is an offence as well: no time is measured. */
#include "probe/calls/calls.h"

#include "probe/sandbox.h"

bool calls_quiet;

static void see(enum sandbox sandbox)
{
    if (!sandbox)
        return;
    calls_find_all();
    calls_quiet = true;
    if (sandbox == SANDBOX_STRICT)
        calls_way = CALLS_COUNT;
}

static void see_prctl(long option, long argument)
{
    see(sandbox_of_prctl(option, argument));
    if (option == PR_SET_TSC)
        calls_way = CALLS_COUNT;
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
    see_prctl(option, argument[0]);
    return real(option, argument[0], argument[1], argument[2], argument[3]);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Allocators call it where nothing else may be called yet, not even dlsym: who is behind us is not looked for here. */
CALLS_EXPORT long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))atomic_load_explicit(&calls_next[FUNCTION_syscall], memory_order_relaxed);
    long argument[SANDBOX_ARGUMENTS];
    SANDBOX_TAKE(argument, SANDBOX_ARGUMENTS, number);
    if (number == SYS_prctl)
        see_prctl((int)argument[0], argument[1]);
    else
        see(sandbox_of_call(number, argument));
    return sandbox_pass(real, number, argument);
}
#endif
