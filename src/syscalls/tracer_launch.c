/* Forks the tracer, which waits for a request, seizes the command, answers, and traces until the end. */
#include "syscalls/tracer_launch.h"

#include "syscalls/tracer.h"
#include "syscalls/tracer_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* False: the other end is closed. */
static bool receive_value(int fd, int32_t *value)
{
    ssize_t got;
    do
        got = recv(fd, value, sizeof *value, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *value;
}

static bool send_value(int fd, int32_t value)
{
    return send(fd, &value, sizeof value, MSG_NOSIGNAL) == (ssize_t)sizeof value;
}

/* Closes inherited descriptors: someone may wait for the end of a pipe. */
static void keep_only(int fd)
{
    if (dup2(fd, 0) == 0 && close_range(1, ~0u, 0) != 0)
        for (int i = 1; i < 1024; i++) /* before Linux 5.9 */
            close(i);
}

/* Main function of the tracer. All signals are blocked: only the end of all tasks ends it. */
static void run_tracer(struct tracer_launch_page *page, int fd)
{
    static struct syscall_counts before_exec;
    static const volatile sig_atomic_t never;
    struct tracer_command command = { &page->counts, &page->state, &page->privileges };
    struct tracer tracer = { .calls = { &before_exec, page->cost.own_ns }, .alive = &page->alive, .filtered = true,
                             .command = &command };
    int32_t pid;
    sigset_t all;
    before_exec.timed = page->counts.timed;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "sonde-tracer");
    setpgid(0, 0);
    keep_only(fd);
    if (!receive_value(0, &pid))
        _exit(0);
    bool is_attached = ptrace(PTRACE_SEIZE, (pid_t)pid, 0L, TRACER_OPTIONS | PTRACE_O_TRACESECCOMP) == 0
                       && tracer_add_task(&tracer, (pid_t)pid);
    if (send_value(0, is_attached) && is_attached)
        tracer_run(&tracer, &never);
    _exit(0);
}

static enum err start(struct tracer_launch *launch)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_from_errno(errno);
    /* fork without an exit signal: who waits for the command's descendants must not see it. */
    long pid = syscall(SYS_clone, 0L, NULL, NULL, NULL, 0L);
    if (pid == 0) {
        close(pair[0]); /* otherwise it would never see that nobody sends a request */
        run_tracer(launch->page, pair[1]);
    }
    enum err err = pid < 0 ? err_from_errno(errno) : OK;
    close(pair[1]);
    launch->tracer = pid < 0 ? 0 : (pid_t)pid;
    launch->request_fd = pair[0];
    return err;
}

enum err tracer_launch_open(struct tracer_launch *launch, bool timed)
{
    *launch = (struct tracer_launch){ .request_fd = -1 };
    launch->page = mmap(NULL, sizeof *launch->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (launch->page == MAP_FAILED) {
        launch->page = NULL;
        return NOMEM;
    }
    launch->page->counts.timed = timed;
    enum err err = tracer_cost_measure(&launch->page->cost);
    if (!err)
        err = start(launch);
    if (err)
        tracer_launch_close(launch);
    return err;
}

/* Under the filter every call waits for the tracer, so the state is set before. */
void tracer_launch_enter(const struct tracer_launch *launch)
{
    int32_t is_attached = 0;
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, (unsigned long)launch->tracer, 0L, 0L, 0L); /* Yama allows parents and the declared tracer
                                                                       * only */
#endif
    launch->page->state = TRACER_LAUNCH_REFUSED;
    if (!send_value(launch->request_fd, (int32_t)getpid()) || !receive_value(launch->request_fd, &is_attached)
        || !is_attached)
        return;
    launch->page->state = TRACER_LAUNCH_FILTERED;
    if (tracer_filter_install() != OK)
        launch->page->state = TRACER_LAUNCH_UNFILTERED;
}

void tracer_launch_done(struct tracer_launch *launch)
{
    if (launch->page && launch->request_fd >= 0) {
        close(launch->request_fd);
        launch->request_fd = -1;
    }
}

void tracer_launch_close(struct tracer_launch *launch)
{
    if (!launch->page)
        return;
    tracer_launch_done(launch);
    if (launch->tracer > 0)
        waitpid(launch->tracer, NULL, __WCLONE | WNOHANG);
    munmap(launch->page, sizeof *launch->page);
    *launch = (struct tracer_launch){ .request_fd = -1 };
}
