/* A piece of a unit test in a child in which the kernel refuses a system call: errors that no file or folder gives. */
#ifndef SONDE_TESTS_TOOLS_REFUSED_H
#define SONDE_TESTS_TOOLS_REFUSED_H

#include "tools/unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFUSED_ANY UINT32_MAX
#define REFUSED_NOT 99 /* there is no such filter here */

/* second: only with this second argument. */
static inline bool refused_begin(long number, uint32_t second, int error)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])), /* its lower half, little-endian */
        BPF_JUMP(BPF_JMP | (second == REFUSED_ANY ? BPF_JGE : BPF_JEQ) | BPF_K, second == REFUSED_ANY ? 0 : second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* What body returns there, from 0 to 98; or REFUSED_NOT. */
static inline int refused_run(int (*body)(void), long number, uint32_t second, int error)
{
    int status = 0;
    pid_t pid = fork();
    caller_assert_true(pid >= 0);
    if (pid == 0)
        _exit(refused_begin(number, second, error) ? body() : REFUSED_NOT);
    caller_assert_int_equal(waitpid(pid, &status, 0), pid);
    caller_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}
#define refused_run(...) (unit_called(__FILE__, __LINE__), (refused_run)(__VA_ARGS__))

#endif
