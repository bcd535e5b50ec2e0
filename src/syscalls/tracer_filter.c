/* Ignores the most frequent and least interesting calls: futex, clocks, own ids, signal masks. All others stop,
 * including unknown ones. */
#include "syscalls/tracer_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH_NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH_NATIVE AUDIT_ARCH_AARCH64
#endif

/* Without rt_sigreturn and restart_syscall, which show the fate of an interrupted call. Most frequent first. */
static const int ignored_calls[] = {
    SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_gettimeofday, SYS_getpid, SYS_gettid, SYS_rt_sigprocmask,
    SYS_rt_sigaction, SYS_tgkill, SYS_sigaltstack, SYS_getcpu, SYS_getrusage, SYS_times, SYS_clock_getres, SYS_getuid,
    SYS_geteuid, SYS_getgid, SYS_getegid, SYS_sched_getaffinity, SYS_membarrier, SYS_set_robust_list, SYS_set_tid_address,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
};

#define IGNORED_COUNT (sizeof ignored_calls / sizeof *ignored_calls)

bool tracer_filter_ignores(int number)
{
    for (size_t i = 0; i < IGNORED_COUNT; i++)
        if (ignored_calls[i] == number)
            return true;
    return false;
}

bool tracer_filter_is_available(void)
{
#ifdef ARCH_NATIVE
    uint32_t action = SECCOMP_RET_TRACE;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
#else
    return false;
#endif
}

#ifdef ARCH_NATIVE
#define HEADER_SIZE 3 /* instructions before the list */

/* SPEC_ALLOW: otherwise a filter slows down the whole program before Linux 5.16. */
static long install(struct sock_fprog *program)
{
    long done = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program);
    return done != 0 && errno == EINVAL ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program) : done;
}

/* Calls of 32-bit programs have other numbers: all of them stop. */
enum err tracer_filter_install(void)
{
    struct sock_filter code[HEADER_SIZE + IGNORED_COUNT + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_NATIVE, 0, 1 + IGNORED_COUNT),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        [HEADER_SIZE + IGNORED_COUNT] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        [HEADER_SIZE + IGNORED_COUNT + 1] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    for (size_t i = 0; i < IGNORED_COUNT; i++)
        code[HEADER_SIZE + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)ignored_calls[i],
                                                             (unsigned char)(IGNORED_COUNT - i), 0);
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (install(&program) == 0)
        return OK;
    if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0)
        return err_from_errno(errno);
    return install(&program) == 0 ? OK : err_from_errno(errno);
}
#else
enum err tracer_filter_install(void)
{
    return ABSENT;
}
#endif
