/* Does something as a user who is nobody, in a child. */
#ifndef SONDE_TESTS_TOOLS_AS_USER_H
#define SONDE_TESTS_TOOLS_AS_USER_H

#include "tools/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#define AS_USER_NOBODY 65534

/* What act returned; needs root. */
static inline int as_user(int (*act)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setuid(AS_USER_NOBODY) ? 99 : act());
    caller_assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}
#define as_user(...) (unit_called(__FILE__, __LINE__), (as_user)(__VA_ARGS__))

#endif
