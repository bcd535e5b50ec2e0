/* Fork, wait to be asked, seize, answer, trace to the end. */
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
static bool receive(int fd, int32_t *value)
{
    ssize_t got;
    do
        got = recv(fd, value, sizeof *value, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *value;
}

static bool tell(int fd, int32_t value)
{
    return send(fd, &value, sizeof value, MSG_NOSIGNAL) == (ssize_t)sizeof value;
}

/* What it was given is not its own: a pipe whose reader waits for its end, say. */
static void keep_only(int fd)
{
    if (dup2(fd, 0) == 0 && close_range(1, ~0u, 0) != 0)
        for (int i = 1; i < 1024; i++) /* before Linux 5.9 */
            close(i);
}

/* In the tracer, in which all signals are blocked: nothing but the end of all tasks ends it. */
static void be_tracer(struct tracer_birth_page *page, int fd)
{
    static struct syscall_counts before_exec;
    static const volatile sig_atomic_t never;
    struct tracer_first first = { &page->counts, &page->state, &page->rights };
    struct tracer tracer = { .calls = { &before_exec, page->cost.own_ns }, .alive = &page->alive, .filtered = true,
                             .first = &first };
    int32_t pid;
    sigset_t all;
    before_exec.timed = page->counts.timed;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "sonde-tracer");
    setpgid(0, 0);
    keep_only(fd);
    if (!receive(0, &pid))
        _exit(0);
    bool is_held = ptrace(PTRACE_SEIZE, (pid_t)pid, 0L, TRACER_OPTIONS | PTRACE_O_TRACESECCOMP) == 0
                   && tracer_hold(&tracer, (pid_t)pid);
    if (tell(0, is_held) && is_held)
        tracer_run(&tracer, &never);
    _exit(0);
}

static enum err start(struct tracer_birth *birth)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_from_errno(errno);
    /* fork, but with no signal at its end: whoever waits for the command's descendants shall not meet it. */
    long pid = syscall(SYS_clone, 0L, NULL, NULL, NULL, 0L);
    if (pid == 0) {
        close(pair[0]); /* or it would never see that nobody asks */
        be_tracer(birth->page, pair[1]);
    }
    enum err err = pid < 0 ? err_from_errno(errno) : OK;
    close(pair[1]);
    birth->tracer = pid < 0 ? 0 : (pid_t)pid;
    birth->ask_fd = pair[0];
    return err;
}

enum err tracer_birth_open(struct tracer_birth *birth, bool timed)
{
    *birth = (struct tracer_birth){ .ask_fd = -1 };
    birth->page = mmap(NULL, sizeof *birth->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (birth->page == MAP_FAILED) {
        birth->page = NULL;
        return NOMEM;
    }
    birth->page->counts.timed = timed;
    enum err err = tracer_cost_measure(&birth->page->cost);
    if (!err)
        err = start(birth);
    if (err)
        tracer_birth_close(birth);
    return err;
}

/* Under the filter every call waits for the tracer: what it is to know stands in the page before. */
void tracer_birth_enter(const struct tracer_birth *birth)
{
    int32_t is_held = 0;
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, (unsigned long)birth->tracer, 0L, 0L, 0L); /* Yama lets only parents trace, and who is named */
#endif
    birth->page->state = TRACER_BIRTH_REFUSED;
    if (!tell(birth->ask_fd, (int32_t)getpid()) || !receive(birth->ask_fd, &is_held) || !is_held)
        return;
    birth->page->state = TRACER_BIRTH_FILTERED;
    if (tracer_filter_install() != OK)
        birth->page->state = TRACER_BIRTH_PLAIN;
}

void tracer_birth_done(struct tracer_birth *birth)
{
    if (birth->page && birth->ask_fd >= 0) {
        close(birth->ask_fd);
        birth->ask_fd = -1;
    }
}

void tracer_birth_close(struct tracer_birth *birth)
{
    if (!birth->page)
        return;
    tracer_birth_done(birth);
    if (birth->tracer > 0)
        waitpid(birth->tracer, NULL, __WCLONE | WNOHANG);
    munmap(birth->page, sizeof *birth->page);
    *birth = (struct tracer_birth){ .ask_fd = -1 };
}
