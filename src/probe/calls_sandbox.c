/* prctl, and syscall for seccomp, of which libc has no function: a program that is about to allow itself only certain system
 * calls would be killed for ours. From then on this library makes none in this process: what has its place in memory by then is
 * counted on, the rest is not. No-new-privileges comes before seccomp, which may then be switched on by a call that is not
 * wrapped, so it counts too.
 *
 * In strict mode, and where the program says so, reading the processor's clock is an offence as well: no time is measured. */
#include "probe/calls.h"

#include "base/sys.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#define ERRNO_MAX 4095

bool calls_quiet;

static void go_quiet(bool is_strict)
{
    calls_find_all();
    calls_quiet = true;
    if (is_strict)
        calls_way = CALLS_COUNT;
}

/* Not one who asks what the kernel has, also by a filter that is none. */
static void see_seccomp(unsigned operation, const void *filter)
{
    if (operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter))
        go_quiet(operation == SECCOMP_SET_MODE_STRICT);
}

static void see_prctl(int option, unsigned long argument)
{
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
        go_quiet(option == PR_SET_SECCOMP && argument == SECCOMP_MODE_STRICT);
    else if (option == PR_SET_TSC)
        calls_way = CALLS_COUNT;
}

CALLS_EXPORT int prctl(int option, ...)
{
    int (*real)(int, ...) = (int (*)(int, ...))calls_real(FUNCTION_prctl);
    unsigned long argument[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        argument[i] = va_arg(list, unsigned long);
    va_end(list);
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
    long argument[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_seccomp)
        see_seccomp((unsigned)argument[0], (const void *)argument[2]);
    else if (number == SYS_prctl)
        see_prctl((int)argument[0], (unsigned long)argument[1]);
    if (real)
        return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    long result = sys_call(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    if (result >= 0 || result < -ERRNO_MAX)
        return result;
    errno = (int)-result;
    return -1;
}
#endif
