/* prctl: a program that is about to allow itself only certain system calls (seccomp) would be killed for ours. From then
 * on the probe makes none in this process: its end is told by the parent's wait and by the kernel. No-new-privileges
 * comes before seccomp, which may then be switched on by a call that is not wrapped, so it counts too. Strict mode ends
 * a process at its exit anyway. */
#include "probe/probe.h"

#include <stdarg.h>
#include <sys/prctl.h>

PROBE_EXPORT int prctl(int option, ...)
{
    unsigned long argument[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        argument[i] = va_arg(list, unsigned long);
    va_end(list);
    if ((option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) && probe.on && probe_mine()) {
        dark_tell_leaving();
        probe.quiet = true;
    }
    return NEXT(prctl)(option, argument[0], argument[1], argument[2], argument[3]);
}
