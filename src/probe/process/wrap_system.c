/* system and pclose wait inside libc, where no wrapped wait sees it, and what their shells use at their very end would be
 * missing in every sum. system is done here with the same public calls that libc uses inside; for pclose the difference
 * in what all children have used tells. */
#include "probe/process/probe.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>

/* Of pthread_cleanup_push; see process.c. */
#pragma weak __pthread_register_cancel
#pragma weak __pthread_unregister_cancel

/* What a caller of system changes in the process: SIGINT and SIGQUIT are ignored from the first call that begins until
 * the last of several in parallel has ended; SIGCHLD is blocked in the calling thread. */
static struct {
    pthread_mutex_t lock;
    unsigned callers;
    struct sigaction interrupt, quit; /* of the program */
} ignoring = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct shell {
    pid_t pid;
    sigset_t mask; /* of the caller */
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

/* The shell has the caller's mask, and the signals ignored here as they were. */
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
    int kept = errno;
    ignore_end(&shell);
    errno = error ? error : kept;
    return status;
}

PROBE_EXPORT int system(const char *line)
{
    if (!probe_on() || !next_is_libc(NEXT_system))
        return NEXT(system)(line);
    return line ? system_run(line) : system_run("exit 0") == 0;
}

/* libc keeps the pid of the shell behind the FILE and its table of functions. Whether it is one is asked of the kernel. */
static pid_t shell_of(FILE *stream)
{
    pid_t pid;
    siginfo_t info;
    memcpy(&pid, (const char *)stream + sizeof(FILE) + sizeof(void *), sizeof pid);
    int peek = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
    return pid > 0 && sys5(SYS_waitid, P_PID, pid, &info, peek, NULL) == 0 ? pid : 0;
}

/* Exact as long as no other thread waits for a child meanwhile, which the wrapped waits count. The largest memory is of
 * all children and tells nothing about this one. */
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
    pid_t pid = probe_on() ? shell_of(stream) : 0;
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
