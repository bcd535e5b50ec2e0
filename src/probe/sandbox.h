/* Recognises calls by which a program is about to restrict its own system calls, after which any other would kill
 * it: seccomp, and no-new-privileges, which precedes it (seccomp may then be enabled by a call that is not wrapped).
 * Both come through prctl or libc's syscall(), since libc has no function for seccomp. */
#ifndef SONDE_PROBE_SANDBOX_H
#define SONDE_PROBE_SANDBOX_H

#include "base/sys.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

#define SANDBOX_ERRNO_MAX 4095
#define SANDBOX_ARGUMENTS 6

enum sandbox { SANDBOX_NONE, SANDBOX_NEAR, SANDBOX_FILTER, SANDBOX_STRICT };

static inline enum sandbox sandbox_of_prctl(long option, long argument)
{
    if (option == PR_SET_SECCOMP)
        return argument == SECCOMP_MODE_STRICT ? SANDBOX_STRICT : SANDBOX_FILTER;
    return option == PR_SET_NO_NEW_PRIVS ? SANDBOX_NEAR : SANDBOX_NONE;
}

/* Not if the program only asks what the kernel supports, for example with a NULL filter. */
static inline enum sandbox sandbox_of_call(long number, const long argument[SANDBOX_ARGUMENTS])
{
    if (number == SYS_prctl)
        return sandbox_of_prctl((int)argument[0], argument[1]);
    if (number != SYS_seccomp)
        return SANDBOX_NONE;
    if ((unsigned)argument[0] == SECCOMP_SET_MODE_STRICT)
        return SANDBOX_STRICT;
    return (unsigned)argument[0] == SECCOMP_SET_MODE_FILTER && argument[2] ? SANDBOX_FILTER : SANDBOX_NONE;
}

/* Like libc's syscall; calls `real` if it is known. */
static inline long sandbox_pass(long (*real)(long, ...), long number, const long argument[SANDBOX_ARGUMENTS])
{
    if (real)
        return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    long result = sys_call(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    if (result >= 0 || result < -SANDBOX_ERRNO_MAX)
        return result;
    errno = (int)-result;
    return -1;
}

/* Reads `count` variadic arguments that follow the parameter `last`. */
#define SANDBOX_TAKE(argument, count, last) \
    do { \
        va_list list; \
        va_start(list, last); \
        for (int i = 0; i < (count); i++) \
            (argument)[i] = va_arg(list, long); \
        va_end(list); \
    } while (0)

#endif
