/* system() and pclose() wait inside libc, past the wait wrappers, and what the shell uses at its very end would be
 * missing from all totals. system() is reimplemented with the public calls that libc uses internally; for pclose()
 * we take the difference of RUSAGE_CHILDREN. */
#include "probe/process/probe.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>

/* Used by pthread_cleanup_push; weak as in process.c. */
#pragma weak __pthread_register_cancel
#pragma weak __pthread_unregister_cancel

/* What system() changes in the process: SIGINT and SIGQUIT are ignored from the first concurrent call to the end of
 * the last; SIGCHLD is blocked in the calling thread. */
static struct {
    pthread_mutex_t lock;
    unsigned callers;
    struct sigaction interrupt, quit; /* the program's dispositions */
} ignoring = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct shell {
    pid_t pid;
    sigset_t mask; /* the caller's */
};

static void ignore_begin(struct shell *shell)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigset_t child;
    pthread_mutex_lock(&ignoring.lock);
    if (ignoring.callers++ == 0) {
        sigaction(SIGINT, &ignore, &ignoring.interrupt);
        sigaction(SIGQUIT, &ignore, &ignoring.quit);
    }
    pthread_mutex_unlock(&ignoring.lock);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &shell->mask);
}

static void ignore_end(const struct shell *shell)
{
    pthread_mutex_lock(&ignoring.lock);
    if (--ignoring.callers == 0) {
        sigaction(SIGINT, &ignoring.interrupt, NULL);
        sigaction(SIGQUIT, &ignoring.quit, NULL);
    }
    pthread_mutex_unlock(&ignoring.lock);
    sigprocmask(SIG_SETMASK, &shell->mask, NULL);
}

void system_reset(void)
{
    if (ignoring.callers)
        pthread_mutex_init(&ignoring.lock, NULL);
}

/* The shell gets the caller's mask and dispositions. */
static int shell_start(struct shell *shell, const char *line)
{
    posix_spawnattr_t attributes;
    sigset_t as_default;
    sigemptyset(&as_default);
    if (ignoring.interrupt.sa_handler != SIG_IGN)
        sigaddset(&as_default, SIGINT);
    if (ignoring.quit.sa_handler != SIG_IGN)
        sigaddset(&as_default, SIGQUIT);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &shell->mask);
    posix_spawnattr_setsigdefault(&attributes, &as_default);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    char *const argv[] = { "sh", "-c", (char *)line, NULL };
    return posix_spawn(&shell->pid, "/bin/sh", NULL, &attributes, argv, environ);
}

static void shell_cancelled(void *value)
{
    struct shell *shell = value;
    kill(shell->pid, SIGKILL);
    while (waitpid(shell->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    ignore_end(shell);
}

static int shell_wait(struct shell *shell)
{
    int status;
    pid_t pid;
    pthread_cleanup_push(shell_cancelled, shell);
    do
        pid = waitpid(shell->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    pthread_cleanup_pop(0);
    return pid == shell->pid ? status : -1;
}

static int system_run(const char *line)
{
    struct shell shell;
    ignore_begin(&shell);
    int error = shell_start(&shell, line);
    int status = error ? 127 << 8 : shell_wait(&shell); /* as if the shell could not be executed */
    int saved_errno = errno;
    ignore_end(&shell);
    errno = error ? error : saved_errno;
    return status;
}

PROBE_EXPORT int system(const char *line)
{
    if (!probe_is_active() || !next_is_libc(NEXT_system))
        return NEXT(system)(line);
    return line ? system_run(line) : system_run("exit 0") == 0;
}

/* glibc stores the pid of the shell after the FILE and its vtable. waitid confirms that it is a child. */
static pid_t shell_of(FILE *stream)
{
    pid_t pid;
    siginfo_t info;
    memcpy(&pid, (const char *)stream + sizeof(FILE) + sizeof(void *), sizeof pid);
    int peek = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
    return pid > 0 && sys5(SYS_waitid, P_PID, pid, &info, peek, NULL) == 0 ? pid : 0;
}

/* Exact unless another thread reaps a child meanwhile, which the wait wrappers count. The peak memory is that of all
 * children and says nothing about this one. */
static bool used_since(struct rusage *usage, const struct rusage *before)
{
    if (sys2(SYS_getrusage, RUSAGE_CHILDREN, usage) != 0)
        return false;
    timersub(&usage->ru_utime, &before->ru_utime, &usage->ru_utime);
    timersub(&usage->ru_stime, &before->ru_stime, &usage->ru_stime);
    usage->ru_minflt -= before->ru_minflt;
    usage->ru_majflt -= before->ru_majflt;
    usage->ru_inblock -= before->ru_inblock;
    usage->ru_oublock -= before->ru_oublock;
    usage->ru_nvcsw -= before->ru_nvcsw;
    usage->ru_nivcsw -= before->ru_nivcsw;
    return true;
}

PROBE_EXPORT int pclose(FILE *stream)
{
    pid_t pid = probe_is_active() ? shell_of(stream) : 0;
    struct rusage before, usage;
    if (!pid || sys2(SYS_getrusage, RUSAGE_CHILDREN, &before) != 0)
        return NEXT(pclose)(stream);
    unsigned reaped = wait_reaped();
    bool alone = !wait_in_flight();
    int status = NEXT(pclose)(stream);
    if (status != -1 && alone && !wait_in_flight() && wait_reaped() == reaped && used_since(&usage, &before))
        wait_emit(pid, status, &usage, false);
    return status;
}
