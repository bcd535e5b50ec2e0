/* The event loop. waitid does not consume stops (WNOWAIT): a signal that stopped a task stays with it until the task is
 * resumed with it, so that it is not lost even if we are killed. */
#include "syscalls/tracer.h"

#include "base/clock.h"
#include "syscalls/tracer_launch.h"
#include "syscalls/tracer_leaderless.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_ALL_STOPS 64               /* after this many stops, and one per task, all tasks are polled in turn */
#define DETACH_NS (2 * NS_PER_S)     /* for tasks that cannot be stopped: waiting for a disk, or for a vfork child */
#define DETACH_PAUSE_NS (NS_PER_MS / 2)
#define FILTER_OPTIONS (PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL)
#define CALL_STOP (SIGTRAP | 0x80)
#define WAIT_FLAGS (WEXITED | WSTOPPED | WNOWAIT | __WALL)

struct tracer_task *tracer_add_task(struct tracer *tracer, pid_t tid)
{
    struct tracer_task *task = tracer_tasks_add(&tracer->tasks, tid);
    atomic_store_explicit(tracer->alive, (uint32_t)tracer->tasks.count, memory_order_relaxed);
    return task;
}

/* Is tid the leader of a process? */
static bool is_process(pid_t tid)
{
    return syscall(SYS_tgkill, tid, tid, 0) == 0 || errno != ESRCH;
}

void tracer_report_begin(const struct tracer *tracer, pid_t tid, bool is_new)
{
    if (tracer->listener && is_process(tid))
        tracer->listener->begins(tracer->listener->context, tid, is_new);
}

static int status_of(const siginfo_t *info)
{
    int status = info->si_status;
    return info->si_code == CLD_EXITED ? (status & 0xff) << 8 : info->si_code == CLD_DUMPED ? status | WCOREFLAG : status;
}

static void report_end(const struct tracer *tracer, pid_t pid, int status)
{
    if (tracer->end && pid == tracer->target)
        atomic_store_explicit(tracer->end, TRACER_ENDED | (uint32_t)status, memory_order_relaxed);
    if (tracer->listener)
        tracer->listener->ended(tracer->listener->context, pid, status);
}

static void remove_task(struct tracer *tracer, pid_t tid)
{
    tracer_tasks_remove(&tracer->tasks, tid);
    atomic_store_explicit(tracer->alive, (uint32_t)tracer->tasks.count, memory_order_relaxed);
}

/* Another stop may replace the one that we requested while detaching: then it is requested again, because a task can be
 * detached there, whatever it was doing. */
static void resume(const struct tracer *tracer, struct tracer_task *task, int signal)
{
    if (tracer->detaching)
        task->interrupted = ptrace(PTRACE_INTERRUPT, task->tid, 0L, 0L) == 0;
    bool to_call = !tracer->detaching && (!tracer->filtered || task->number != TRACER_NO_CALL);
    ptrace(to_call ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, 0L, (long)signal); /* ESRCH: killed; its exit follows */
}

static void on_call(struct tracer *tracer, struct tracer_task *task, uint64_t stopped_ns)
{
    tracer_calls_stop(&tracer->calls, task, stopped_ns);
    if (task->entry_ns && task->number != TRACER_NO_CALL && task->entry_ns == stopped_ns)
        task->entry_ns = clock_monotonic_ns(); /* it is resumed only now */
    resume(tracer, task, 0);
}

/* Starts counting at the exec of the command. Under a filter, calls fail without a tracer: a program that is killed
 * with us is better than one that continues with failing calls. */
static void begin(struct tracer *tracer, pid_t tid)
{
    tracer->has_begun = true;
    tracer->filtered = *tracer->command->state == TRACER_LAUNCH_FILTERED;
    tracer->calls.counts = tracer->command->counts;
    ptrace(PTRACE_SETOPTIONS, tid, 0L, TRACER_OPTIONS | (tracer->filtered ? FILTER_OPTIONS : 0L));
}

/* After exec a task has the pid of its process, and the other threads are gone. The kernel requires this event to be
 * consumed before the task can be accessed under its new tid. */
static void on_exec(struct tracer *tracer, struct tracer_task *task)
{
    unsigned long before = 0;
    pid_t tid = task->tid;
    waitpid(tid, NULL, __WALL | WNOHANG);
    if (ptrace(PTRACE_GETEVENTMSG, tid, 0L, &before) == 0 && before && (pid_t)before != tid) {
        const struct tracer_task *former = tracer_tasks_find(&tracer->tasks, (pid_t)before);
        if (former) {
            *task = *former;
            task->tid = tid;
            remove_task(tracer, (pid_t)before);
        }
    }
    if (tracer->command && !tracer->has_begun)
        begin(tracer, tid);
    struct tracer_privileges *privileges = tracer->command ? tracer->command->privileges : tracer->privileges;
    if (privileges)
        tracer_privileges_check(privileges, tid);
    if (tracer->listener)
        tracer->listener->execs(tracer->listener->context, tid);
    task = tracer_tasks_find(&tracer->tasks, tid);
    if (task)
        resume(tracer, task, 0);
}

static bool is_stop_signal(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* A stop by job control, by our request, of a new task, or after SIGCONT. */
static void on_pause(struct tracer *tracer, struct tracer_task *task, int signal)
{
    if (tracer->detaching) {
        if (ptrace(PTRACE_DETACH, task->tid, 0L, 0L) == 0)
            remove_task(tracer, task->tid);
    } else if (is_stop_signal(signal)) {
        ptrace(PTRACE_LISTEN, task->tid, 0L, 0L); /* stays stopped until SIGCONT */
    } else {
        resume(tracer, task, 0);
    }
}

/* A thread is about to exit, and with a leader its process. */
static void on_exit_stop(const struct tracer *tracer, pid_t tid)
{
    pid_t pid = is_process(tid) ? tid : tracer_leaderless_of(tracer, tid);
    if (tracer->listener && pid)
        tracer->listener->ends(tracer->listener->context, pid);
}

static void on_stop(struct tracer *tracer, struct tracer_task *task, int status, uint64_t stopped_ns)
{
    int signal = status & 0xff;
    if (task->interrupted)
        tracer_calls_restart(task);
    task->interrupted = false;
    switch (status >> 8) {
    case 0:
        if (signal == CALL_STOP)
            on_call(tracer, task, stopped_ns);
        else
            resume(tracer, task, signal);
        break;
    case PTRACE_EVENT_STOP:
        on_pause(tracer, task, signal);
        break;
    case PTRACE_EVENT_EXEC:
        on_exec(tracer, task);
        break;
    case PTRACE_EVENT_SECCOMP:
        on_call(tracer, task, stopped_ns);
        break;
    case PTRACE_EVENT_EXIT:
        on_exit_stop(tracer, task->tid);
        resume(tracer, task, 0);
        break;
    default: /* it started another task, which reports itself */
        resume(tracer, task, 0);
    }
}

/* All threads of a process exit with the status of the process: that of the last thread is used if that of the leader
 * is not available. */
static void on_end(struct tracer *tracer, const siginfo_t *info)
{
    pid_t tid = info->si_pid, leaderless = tracer_leaderless_of(tracer, tid);
    if (is_process(tid))
        report_end(tracer, tid, status_of(info));
    waitpid(tid, NULL, __WALL | WNOHANG); /* now its parent is notified */
    remove_task(tracer, tid);
    if (leaderless && tracer_leaderless_is_over(leaderless) && tracer_leaderless_remove(tracer, leaderless))
        report_end(tracer, leaderless, status_of(info));
}

static void on_event(struct tracer *tracer, const siginfo_t *info)
{
    uint64_t stopped_ns = tracer->calls.counts->timed ? clock_monotonic_ns() : 0;
    pid_t tid = info->si_pid;
    if (info->si_code != CLD_TRAPPED && info->si_code != CLD_STOPPED) {
        on_end(tracer, info);
        return;
    }
    size_t before = tracer->tasks.count;
    struct tracer_task *task = tracer_add_task(tracer, tid);
    if (tracer->tasks.count > before && !tracer_leaderless_remove(tracer, tid))
        tracer_report_begin(tracer, tid, true);
    if (task)
        on_stop(tracer, task, info->si_status, stopped_ns);
    else
        ptrace(tracer->filtered ? PTRACE_CONT : PTRACE_DETACH, tid, 0L, 0L); /* no memory: it continues without being
                                                                              * counted */
}

/* False: there is no event for it. */
static bool poll_task(struct tracer *tracer, pid_t tid)
{
    siginfo_t info = { 0 };
    if (waitid(P_PID, (id_t)tid, &info, WAIT_FLAGS | WNOHANG) != 0 || !info.si_pid)
        return false;
    on_event(tracer, &info);
    return true;
}

/* The kernel reports the first stopped task. One that stops again at once would starve all others. */
static void poll_all(struct tracer *tracer)
{
    pid_t *tids = tracer_tasks_list(&tracer->tasks);
    for (const pid_t *tid = tids; tid && *tid; tid++)
        poll_task(tracer, *tid);
    free(tids);
    tracer->stops = 0;
}

void tracer_run(struct tracer *tracer, const volatile sig_atomic_t *stop)
{
    while (!*stop) {
        siginfo_t info = { 0 };
        if (waitid(P_ALL, 0, &info, WAIT_FLAGS) == 0)
            on_event(tracer, &info);
        else if (errno != EINTR)
            return; /* no task is left */
        if (++tracer->stops > POLL_ALL_STOPS && tracer->stops > tracer->tasks.count && tracer->tasks.count > 1)
            poll_all(tracer);
    }
}

static void interrupt_all(struct tracer *tracer)
{
    pid_t *tids = tracer_tasks_list(&tracer->tasks);
    for (const pid_t *tid = tids; tid && *tid; tid++) {
        struct tracer_task *task = tracer_tasks_find(&tracer->tasks, *tid);
        if (task && ptrace(PTRACE_INTERRUPT, *tid, 0L, 0L) == 0)
            task->interrupted = true;
    }
    free(tids);
}

static void record_pending(const struct tracer *tracer)
{
    for (size_t i = 0; tracer->pending && i < tracer->tasks.capacity; i++)
        if (tracer->tasks.table[i].tid && tracer->tasks.table[i].number != TRACER_NO_CALL)
            tracer->pending[tracer->tasks.table[i].number]++;
}

void tracer_detach(struct tracer *tracer)
{
    uint64_t until_ns = clock_monotonic_ns() + DETACH_NS;
    tracer->detaching = true;
    record_pending(tracer);
    interrupt_all(tracer);
    while (tracer->tasks.count && clock_monotonic_ns() < until_ns) {
        siginfo_t info = { 0 };
        if (waitid(P_ALL, 0, &info, WAIT_FLAGS | WNOHANG) != 0 && errno != EINTR)
            break;
        if (info.si_pid)
            on_event(tracer, &info);
        else
            nanosleep(&(struct timespec){ 0, DETACH_PAUSE_NS }, NULL);
    }
}
