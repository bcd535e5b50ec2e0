/* Forks the tracer, which seizes the target, reports the result, traces, and detaches. */
#include "syscalls/tracer_process.h"

#include "base/clock.h"
#include "syscalls/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAKEUP_US 200000 /* interval at which the tracer is woken, in case a signal came just before it waited */
#define STOP_PAUSE_MS 100

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
    if (signal != SIGALRM)
        stop = 1;
}

/* Any of these signals makes the tracer detach and exit. */
static void catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM };
    struct sigaction action = { .sa_handler = on_signal };
    struct itimerval timer = { { 0, WAKEUP_US }, { 0, WAKEUP_US } };
    sigset_t none;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Main function of the tracer. result_fd receives the result of attaching, and is closed when we exit. */
static void run_tracer(struct tracer_page *page, pid_t target, const struct tracer_listener *listener, pid_t parent,
                       int result_fd)
{
    struct tracer tracer = { .calls = { &page->counts, page->cost.own_ns }, .alive = &page->alive, .listener = listener,
                             .target = target, .end = &page->end, .privileges = &page->privileges,
                             .pending = page->pending };
    size_t attached;
    catch_signals();
    setpgid(0, 0); /* Ctrl-Z on us must not stop the program, which waits for the tracer at each call */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    int32_t err = (int32_t)tracer_seize(&tracer, target, &attached);
    page->attached_at_start = (uint32_t)attached;
    if (write(result_fd, &err, sizeof err) == (ssize_t)sizeof err && !err)
        tracer_run(&tracer, &stop);
    if (listener && !err)
        listener->over(listener->context);
    tracer_detach(&tracer);
    page->is_over = true;
    _exit(0);
}

static enum err read_seize_result(int fd)
{
    int32_t err = IO;
    ssize_t got;
    do
        got = read(fd, &err, sizeof err);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof err ? (enum err)err : IO;
}

static enum err start(struct tracer_process *process, pid_t target, const struct tracer_listener *listener)
{
    int send_value[2];
    pid_t self = getpid();
    if (pipe2(send_value, O_CLOEXEC) != 0)
        return err_from_errno(errno);
    process->pid = fork();
    if (process->pid == 0)
        run_tracer(process->page, target, listener, self, send_value[1]);
    close(send_value[1]);
    enum err err = process->pid < 0 ? err_from_errno(errno) : read_seize_result(send_value[0]);
    process->end_fd = send_value[0];
    return err;
}

enum err tracer_process_start(struct tracer_process *process, pid_t target, bool timed,
                              const struct tracer_listener *listener)
{
    *process = (struct tracer_process){ .end_fd = -1, .pid = -1 };
    process->page = mmap(NULL, sizeof *process->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (process->page == MAP_FAILED) {
        process->page = NULL;
        return NOMEM;
    }
    process->page->counts.timed = timed;
    tracer_cost_measure(&process->page->cost); /* if ptrace is not available, seizing reports it */
    enum err err = start(process, target, listener);
    if (err)
        tracer_process_close(process);
    return err;
}

void tracer_process_stop(struct tracer_process *process)
{
    if (process->pid <= 0)
        return;
    struct pollfd polled = { .fd = process->end_fd, .events = POLLIN };
    do
        kill(process->pid, SIGTERM); /* repeated: see tracer_run */
    while (poll(&polled, 1, STOP_PAUSE_MS) != 1);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    process->pid = -1;
}

void tracer_process_close(struct tracer_process *process)
{
    tracer_process_stop(process);
    if (process->end_fd >= 0)
        close(process->end_fd);
    if (process->page)
        munmap(process->page, sizeof *process->page);
    *process = (struct tracer_process){ .end_fd = -1, .pid = -1 };
}
