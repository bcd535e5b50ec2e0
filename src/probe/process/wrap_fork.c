/* fork: in the child the state is that of another process. The handlers that libc runs around it do that, for the forks inside
 * libc too; they are registered when a program is about to fork for the first time, because most never do, and to register them
 * took each of these 7 us. A child's handler of another library that was registered before runs before ours. */
#include "probe/process/probe.h"

#include <pty.h>

/* What pthread_atfork calls; that itself needs start files that cost more at each start than they do. musl lacks it, and ends a
 * program at its start for what it lacks. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
#pragma weak __register_atfork

static void fork_prepare(void)
{
    next_find_first();
    if (!probe_on())
        return;
    next_is_libc(NEXT_execve); /* for the children, who all execute something */
    next_is_libc(NEXT_execvpe);
    probe.forking = sys_getpid();
    probe.forking_ns = probe_now_ns(); /* in the parent's order: the child may run when its parent has long exec'd */
    atomic_fetch_add_explicit(&probe.children, 1, memory_order_relaxed);
}

/* Where the kernel tells of all processes it has told of this one, with its parent and the moment. */
static void fork_emit(void)
{
    if (probe.bound)
        return;
    uint8_t frame[128];
    struct fork_record record = {
        .pid = (uint64_t)probe.pid,
        .ppid = (uint64_t)probe.forking, /* not getppid: the parent may have ended by now */
        .time_ns = probe.forking_ns,
    };
    struct packer packer = emit_begin(frame, sizeof frame);
    record_pack_fork(&packer, &record);
    emit_end(frame, &packer, RECORD_KIND_fork);
}

/* The first process of a new pid namespace: its parent is not in it. */
static bool is_born_elsewhere(void)
{
    return probe.bound && sys0(SYS_getppid) == 0;
}

static void fork_child(void)
{
    if (!probe_on())
        return;
    if (is_born_elsewhere()) {
        probe.on = false;
        return;
    }
    probe.pid = sys_getpid();
    probe.main_thread = probe_thread();
    probe.forked = true;
    probe.ended = false;
    probe.children = 0;
    probe.start_ticks = 0;
    memset(&probe.own_main, 0, sizeof probe.own_main);
    memset(&probe.own_others, 0, sizeof probe.own_others);
    held_forget();
    threads_reset();
    system_reset();
    fork_emit();
    perf_open_thread();
}

static void fork_follow(void)
{
    static _Atomic bool follows;
    if (probe.on && !atomic_exchange(&follows, true))
        __register_atfork(fork_prepare, NULL, fork_child, NULL);
}

PROBE_EXPORT pid_t fork(void)
{
    fork_follow();
    return NEXT(fork)();
}

PROBE_EXPORT int daemon(int keeps_folder, int keeps_streams)
{
    fork_follow();
    return NEXT(daemon)(keeps_folder, keeps_streams);
}

/* Before glibc 2.34 it is in a library of its own, which whoever calls it has. */
PROBE_EXPORT pid_t forkpty(int *fd, char *name, const struct termios *terminal, const struct winsize *size)
{
    fork_follow();
    if (NEXT(forkpty))
        return NEXT(forkpty)(fd, name, terminal, size);
    errno = ENOSYS;
    return -1;
}
