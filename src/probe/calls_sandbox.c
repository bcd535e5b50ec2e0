/* prctl: a program that is about to allow itself only certain system calls (seccomp) would be killed for ours. From then on this
 * library makes none in this process: what has its place in memory by then is counted on, the rest is not. No-new-privileges
 * comes before seccomp, which may then be switched on by a call that is not wrapped, so it counts too.
 *
 * In strict mode, and where the program says so, reading the processor's clock is an offence as well: no time is measured. */
#include "probe/calls.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

bool calls_quiet;

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
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) {
        calls_find_all();
        calls_quiet = true;
    }
    if ((option == PR_SET_SECCOMP && argument[0] == SECCOMP_MODE_STRICT) || option == PR_SET_TSC)
        calls_way = CALLS_COUNT;
    return real(option, argument[0], argument[1], argument[2], argument[3]);
}
