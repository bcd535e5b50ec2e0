/* Counts calls from PTRACE_GET_SYSCALL_INFO. A call interrupted by a signal has not returned: either the kernel
 * restarts it, and it is counted when that returns; or a handler ran, and it is counted as failed when the program
 * continues after it. */
#include "syscalls/tracer_calls.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

/* include/linux/errno.h of the kernel: visible to tracers only. */
#define ERESTARTSYS 512
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

#define RESTARTS_MAX 1000u  /* a device may return EINTR for its own reasons, again and again: then the program must see
                             * it */
#define RESTARTS_TIMED_MAX 3u /* a restart extends the timeout, which must not be postponed without end */

#if defined(__x86_64__)
#define ARCH_NATIVE AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#define CODE_64_BIT 0x33 /* code segment of 64-bit programs */
#elif defined(__aarch64__)
#define ARCH_NATIVE AUDIT_ARCH_AARCH64
#endif

static bool is_interrupted(int64_t result)
{
    return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK;
}

/* The native number of a call. */
static int number_of(const struct __ptrace_syscall_info *info, uint64_t number)
{
#ifdef ARCH_NATIVE
    if (info->arch != ARCH_NATIVE) {
        int same = info->arch == AUDIT_ARCH_I386 ? syscall_names_from_i386((unsigned)number) : -1;
        return same >= 0 ? same : SYSCALL_NAMES_OTHER;
    }
#endif
#ifdef X32_BIT
    number &= ~(uint64_t)X32_BIT;
#endif
    return number < SYSCALL_NAMES_MAX ? (int)number : SYSCALL_NAMES_OTHER;
}

/* For restartable calls. Those without a timeout argument return EINTR only if their socket has a timeout. */
static bool has_timeout(int number, const uint64_t *arguments)
{
    switch (number) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
        return (int)arguments[3] >= 0;
    case SYS_rt_sigtimedwait:
        return arguments[2];
    case SYS_epoll_pwait2: case SYS_semtimedop:
        return arguments[3];
    case SYS_io_getevents: case SYS_io_pgetevents:
        return arguments[4];
    default:
        return number != SYS_semop && number != SYS_getrandom;
    }
}

/* The call continues; its time starts at its first entry; 0: before we attached. */
static void resume_call(struct tracer_task *task, uint64_t now_ns)
{
    task->number = task->interrupted_call.number;
    task->entry_ns = task->interrupted_call.entry_ns ? task->interrupted_call.entry_ns : now_ns;
    task->interrupted_call.number = TRACER_NO_CALL;
}

static void enter(struct tracer_task *task, int number, const uint64_t *arguments, uint64_t stack, uint64_t now_ns)
{
    const struct tracer_interrupted_call *interrupted_call = &task->interrupted_call;
    task->has_timeout = has_timeout(number, arguments);
    if (interrupted_call->number != TRACER_NO_CALL && interrupted_call->stack == stack
        && (number == interrupted_call->number || number == SYS_restart_syscall)) {
        resume_call(task, now_ns);
        return;
    }
    task->entry_ns = now_ns;
    task->number = number;
}

/* A signal handler returned: to a point after a call that failed because of the signal? */
static bool was_interrupted_before_handler(const struct tracer_task *task, int64_t result, uint64_t stack)
{
    return task->number == SYS_rt_sigreturn && task->interrupted_call.number != TRACER_NO_CALL
           && task->interrupted_call.stack == stack && result == -EINTR;
}

static void count(struct tracer_calls *calls, int number, int64_t result, uint64_t time_ns)
{
    syscall_counts_add(calls->counts, (unsigned)number, result, time_ns > calls->own_ns ? time_ns - calls->own_ns : 0);
}

static void leave(struct tracer_calls *calls, struct tracer_task *task, int64_t result, uint64_t stack, uint64_t now_ns)
{
    uint64_t time_ns = now_ns > task->entry_ns && task->entry_ns ? now_ns - task->entry_ns : 0;
    int number = task->number;
    task->number = TRACER_NO_CALL;
    if (number == TRACER_NO_CALL)
        return;
    if (is_interrupted(result))
        task->interrupted_call = (struct tracer_interrupted_call){ number, stack, task->entry_ns, time_ns };
    else
        count(calls, number, number == SYS_rt_sigreturn ? 0 : result, time_ns);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* They return EINTR after a stop, and have had no effect by then, so they can be repeated. */
static bool is_restartable(uint64_t number)
{
    switch (number) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: case SYS_epoll_pwait2: case SYS_rt_sigtimedwait:
    case SYS_semop: case SYS_semtimedop: case SYS_io_getevents: case SYS_io_pgetevents: case SYS_getrandom:
    case SYS_read: case SYS_readv: case SYS_write: case SYS_writev: case SYS_recvfrom: case SYS_recvmsg:
    case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg: case SYS_accept: case SYS_accept4:
        return true;
    default:
        return false;
    }
}
#endif

#if defined(__x86_64__)
static bool must_restart(const struct tracer_task *task, const struct user_regs_struct *regs)
{
    (void)task;
    return (int64_t)regs->rax == -EINTR && regs->cs == CODE_64_BIT && is_restartable(regs->orig_rax);
}

#define RESULT_OF(regs) (regs).rax
#elif defined(__aarch64__)
/* On aarch64 the kernel decides about a restart only at the return stop, and has lost the first argument after that: a
 * later restart code would reach the program as an unknown error. */
static bool must_restart(const struct tracer_task *task, const struct user_regs_struct *regs)
{
    struct __ptrace_syscall_info info = { 0 };
    if ((int64_t)regs->regs[0] != -EINTR || !is_restartable(regs->regs[8]))
        return false;
    return ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_EXIT
           && info.arch == ARCH_NATIVE;
}

#define RESULT_OF(regs) (regs).regs[0]
#endif

#ifdef RESULT_OF
static bool read_regs(const struct tracer_task *task, struct user_regs_struct *regs)
{
    struct iovec vector = { regs, sizeof *regs };
    return ptrace(PTRACE_GETREGSET, task->tid, NT_PRSTATUS, &vector) == 0 && vector.iov_len == sizeof *regs;
}
#endif

/* ERESTARTNOHAND makes the kernel restart the call if no handler runs, else return EINTR as without us. */
static bool set_restart(const struct tracer_task *task)
{
#ifdef RESULT_OF
    struct user_regs_struct regs;
    struct iovec vector = { &regs, sizeof regs };
    if (!read_regs(task, &regs) || !must_restart(task, &regs))
        return false;
    RESULT_OF(regs) = (unsigned long long)-ERESTARTNOHAND;
    return ptrace(PTRACE_SETREGSET, task->tid, NT_PRSTATUS, &vector) == 0;
#else
    (void)task;
    return false;
#endif
}

/* Remembers a call that was in progress before we attached and that the kernel will restart as restart_syscall, which
 * does not name it. On aarch64 it already is restart_syscall by now. */
static void keep_interrupted_number(struct tracer_task *task)
{
#if defined(__x86_64__)
    struct user_regs_struct regs;
    if (task->number != TRACER_NO_CALL || task->interrupted_call.number != TRACER_NO_CALL || !read_regs(task, &regs))
        return;
    if ((int64_t)regs.rax != -ERESTART_RESTARTBLOCK || regs.cs != CODE_64_BIT || regs.orig_rax >= SYSCALL_NAMES_MAX)
        return;
    task->interrupted_call = (struct tracer_interrupted_call){ .number = (int)regs.orig_rax, .stack = regs.rsp };
#else
    (void)task;
#endif
}

void tracer_calls_restart(struct tracer_task *task)
{
    if (!set_restart(task))
        keep_interrupted_number(task);
}

/* The kernel checks for a restart only on the way to a signal or stop, so we request a stop. */
static bool restart_call(struct tracer_task *task, int64_t result)
{
    if (result != -EINTR) {
        task->restarts = is_interrupted(result) ? task->restarts : 0;
        return false;
    }
    if (task->restarts >= (task->has_timeout ? RESTARTS_TIMED_MAX : RESTARTS_MAX) || !set_restart(task)) {
        task->restarts = 0;
        return false;
    }
    task->restarts++;
    task->interrupted = ptrace(PTRACE_INTERRUPT, task->tid, 0L, 0L) == 0; /* ESRCH: killed meanwhile */
    return true;
}

void tracer_calls_stop(struct tracer_calls *calls, struct tracer_task *task, uint64_t now_ns)
{
    struct __ptrace_syscall_info info = { 0 };
    if (ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof info, &info) <= 0)
        return;
    switch (info.op) {
    case PTRACE_SYSCALL_INFO_ENTRY:
        enter(task, number_of(&info, info.entry.nr), info.entry.args, info.stack_pointer, now_ns);
        break;
    case PTRACE_SYSCALL_INFO_SECCOMP:
        enter(task, number_of(&info, info.seccomp.nr), info.seccomp.args, info.stack_pointer, now_ns);
        break;
    case PTRACE_SYSCALL_INFO_EXIT:
        if (was_interrupted_before_handler(task, info.exit.rval, info.stack_pointer)) {
            count(calls, task->interrupted_call.number, -EINTR, task->interrupted_call.time_ns);
            task->interrupted_call.number = TRACER_NO_CALL;
        }
        leave(calls, task, restart_call(task, info.exit.rval) ? -ERESTARTNOHAND : info.exit.rval, info.stack_pointer,
              now_ns);
        break;
    default:
        break;
    }
}
