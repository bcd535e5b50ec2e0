/* A child process calls getppid, first untraced, then traced by us. */
#include "syscalls/tracer_cost.h"

#include "base/clock.h"
#include "base/sys.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_BARE 2000
#define CALLS 400

static void do_nothing(int calls)
{
    for (int i = 0; i < calls; i++)
        sys0(SYS_getppid);
}

static uint64_t measure_bare(void)
{
    uint64_t begin_ns = clock_monotonic_ns();
    do_nothing(CALLS_BARE);
    return (clock_monotonic_ns() - begin_ns) / CALLS_BARE;
}

/* Waits until it is attached, then calls. */
static void run_traced(int fd)
{
    char go;
    while (sys_read(fd, &go, 1) < 0)
        continue;
    do_nothing(CALLS);
    _exit(0);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Records the time between entry and return of each call. Returns the number of calls. */
static int trace(pid_t pid, uint64_t *times_ns, uint64_t *all_ns)
{
    int status, count = 0, stops = 0;
    uint64_t resumed_ns = 0, begin_ns = clock_monotonic_ns();
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        uint64_t now_ns = clock_monotonic_ns();
        struct __ptrace_syscall_info info = { 0 };
        ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
        if (info.op == PTRACE_SYSCALL_INFO_EXIT && resumed_ns && count < CALLS)
            times_ns[count++] = now_ns - resumed_ns;
        resumed_ns = info.op == PTRACE_SYSCALL_INFO_ENTRY ? clock_monotonic_ns() : 0;
        stops++;
        ptrace(PTRACE_SYSCALL, pid, 0L, 0L);
    }
    *all_ns = stops ? (clock_monotonic_ns() - begin_ns) / (uint64_t)stops * 2 : 0;
    return count;
}

static enum err measure_traced(struct tracer_cost *cost, pid_t pid, int go_fd)
{
    uint64_t times_ns[CALLS] = { 0 };
    enum err err = OK;
    if (ptrace(PTRACE_SEIZE, pid, 0L, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0)
        err = err_from_errno(errno);
    else if (ptrace(PTRACE_INTERRUPT, pid, 0L, 0L) != 0 || write(go_fd, "", 1) != 1)
        err = IO;
    int count = err ? 0 : trace(pid, times_ns, &cost->traced_ns);
    if (count < CALLS / 2)
        return err ? err : IO;
    qsort(times_ns, (size_t)count, sizeof *times_ns, compare);
    uint64_t median_ns = times_ns[count / 2];
    cost->own_ns = median_ns > cost->bare_ns ? median_ns - cost->bare_ns : 0;
    return OK;
}

enum err tracer_cost_measure(struct tracer_cost *cost)
{
    int go[2];
    *cost = (struct tracer_cost){ .bare_ns = measure_bare() };
    if (pipe2(go, O_CLOEXEC) != 0)
        return err_from_errno(errno);
    pid_t pid = fork();
    if (pid == 0)
        run_traced(go[0]);
    enum err err = pid < 0 ? err_from_errno(errno) : measure_traced(cost, pid, go[1]);
    close(go[0]);
    close(go[1]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    return err;
}
