/* fork: resets the state in the child, in handlers that libc also runs for its internal forks. They are registered
 * at the first fork, because most programs never fork, and registering took 7 us. Child handlers that other
 * libraries registered earlier run before ours. */
#include "probe/process/probe.h"

#include <pty.h>

/* What pthread_atfork calls; pthread_atfork itself needs start files, which cost time at each start. musl does not
 * have it, and refuses to start a program with unresolved symbols. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
#pragma weak __register_atfork

static void fork_prepare(void)
{
    next_find_first();
    if (!probe_is_active())
        return;
    next_is_libc(NEXT_execve); /* for the children, which will all exec */
    next_is_libc(NEXT_execvpe);
    probe.forking_pid = sys_getpid();
    probe.forking_ns = probe_now_ns(); /* taken in the parent: the child may first run long after its parent has exec'd */
    atomic_fetch_add_explicit(&probe.children, 1, memory_order_relaxed);
}

/* Where the kernel reports all processes, it has reported this one with its parent and time. */
static void fork_emit(void)
{
    if (probe.is_in_run_namespace)
        return;
    uint8_t frame[128];
    struct fork_record record = {
        .pid = (uint64_t)probe.pid,
        .ppid = (uint64_t)probe.forking_pid, /* not getppid: the parent may have ended by now */
        .time_ns = probe.forking_ns,
    };
    struct packer packer = emit_begin(frame, sizeof frame);
    record_pack_fork(&packer, &record);
    emit_end(frame, &packer, RECORD_KIND_fork);
}

/* The first process of a new pid namespace does not see its parent. */
static bool is_first_of_namespace(void)
{
    return probe.is_in_run_namespace && sys0(SYS_getppid) == 0;
}

static void fork_child(void)
{
    if (!probe_is_active())
        return;
    if (is_first_of_namespace()) {
        probe.is_active = false;
        return;
    }
    probe.pid = sys_getpid();
    probe.main_thread = probe_thread();
    probe.is_forked = true;
    probe.end_is_recorded = false;
    probe.children = 0;
    probe.start_ticks = 0;
    memset(&probe.overhead_main, 0, sizeof probe.overhead_main);
    memset(&probe.overhead_others, 0, sizeof probe.overhead_others);
    record_batch_reset();
    threads_reset();
    system_reset();
    fork_emit();
    perf_open_thread();
}

static void register_fork_handlers(void)
{
    static _Atomic bool is_registered;
    if (probe.is_active && !atomic_exchange(&is_registered, true))
        __register_atfork(fork_prepare, NULL, fork_child, NULL);
}

PROBE_EXPORT pid_t fork(void)
{
    register_fork_handlers();
    return NEXT(fork)();
}

PROBE_EXPORT int daemon(int nochdir, int noclose)
{
    register_fork_handlers();
    return NEXT(daemon)(nochdir, noclose);
}

/* Before glibc 2.34 it is in libutil, which every caller has loaded. */
PROBE_EXPORT pid_t forkpty(int *fd, char *name, const struct termios *terminal, const struct winsize *size)
{
    register_fork_handlers();
    if (NEXT(forkpty))
        return NEXT(forkpty)(fd, name, terminal, size);
    errno = ENOSYS;
    return -1;
}
