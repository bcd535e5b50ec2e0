/* acts_calls: prints the results of every call that the probe wraps, successful and failing, with errno,
 * descriptors, umask and signal mask in between: the output must be the same with and without the probe. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A successful call must preserve errno. */
#define CALL(call) \
    do { \
        errno = 77; \
        long result_ = (long)(call); \
        printf("%s: %ld errno %d\n", #call, result_, errno); \
    } while (0)

static pid_t child;
static const char *volatile nowhere; /* NULL, unknown to the compiler */

/* A child that exits with 5, or stops first. */
static void make(bool stops)
{
    child = fork();
    if (child < 0)
        abort(); /* before we would kill -1 */
    if (child == 0) {
        if (stops)
            raise(SIGSTOP);
        _exit(5);
    }
}

static void show_state(void)
{
    sigset_t mask;
    struct dirent *entry;
    DIR *folder = opendir("/proc/self/fd");
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    mode_t old = umask(0);
    umask(old);
    printf("umask %o, SIGCHLD blocked %d, descriptors", old, sigismember(&mask, SIGCHLD));
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            printf(" %s", entry->d_name);
    closedir(folder);
    putchar('\n');
}

static void wait_calls(void)
{
    int status;
    struct rusage usage;
    make(false);
    CALL(wait(&status) == child);
    printf("status %x\n", status);
    make(false);
    CALL(wait(NULL) == child);
    make(false);
    CALL(waitpid(child, &status, 0) == child);
    make(false);
    CALL(waitpid(-1, NULL, 0) == child);
    make(false);
    CALL(wait3(&status, 0, &usage) == child);
    printf("status %x, used something %d\n", status, usage.ru_minflt > 0);
    make(false);
    CALL(wait3(NULL, 0, NULL) == child);
    make(false);
    memset(&usage, 0, sizeof usage);
    CALL(wait4(child, &status, 0, &usage) == child);
    printf("status %x, used something %d\n", status, usage.ru_minflt > 0);
    CALL(wait(NULL));
    CALL(waitpid(-1, &status, WNOHANG));
    CALL(waitpid(1, NULL, 0));
    CALL(waitpid(-1, NULL, 0x7777));
    make(true);
    CALL(waitpid(child, &status, WUNTRACED) == child);
    printf("stopped %d\n", WIFSTOPPED(status));
    CALL(waitpid(child, &status, WNOHANG));
    kill(child, SIGCONT);
    CALL(waitpid(child, &status, 0) == child);
    make(true);
    CALL(waitpid(child, &status, WUNTRACED) == child);
    kill(child, SIGKILL);
    CALL(waitpid(child, &status, 0) == child);
    printf("status %x\n", status);
}

static void show_info(const siginfo_t *info)
{
    printf("info: signal %d errno %d code %d its pid %d uid %u status %d\n", info->si_signo, info->si_errno, info->si_code,
           info->si_pid == child, info->si_uid, info->si_status);
}

static void waitid_calls(void)
{
    siginfo_t info;
    make(false);
    memset(&info, 0x55, sizeof info);
    CALL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
    show_info(&info);
    CALL(waitid(P_ALL, 0, &info, WEXITED));
    show_info(&info);
    memset(&info, 0x55, sizeof info);
    CALL(waitid(P_ALL, 0, &info, WEXITED));
    show_info(&info);
    CALL(waitid(P_ALL, 0, NULL, WEXITED));
    CALL(waitid(P_ALL, 0, &info, 0));
    make(true);
    CALL(waitid(P_PID, (id_t)child, &info, WSTOPPED));
    show_info(&info);
    memset(&info, 0, sizeof info);
    CALL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG));
    show_info(&info);
    kill(child, SIGKILL);
    CALL(waitid(P_PID, (id_t)child, &info, WEXITED));
    show_info(&info);
    make(false);
    CALL(waitid(P_PID, (id_t)child, NULL, WEXITED));
}

static void exec_calls(void)
{
    char *argv[] = { "x", NULL };
    CALL(execve("/does/not/exist", argv, environ));
    CALL(execv("/", argv));
    CALL(execvp("", argv));
    CALL(execvp("no-such-program", argv));
    CALL(execvpe("/etc/passwd", argv, environ));
    CALL(execl("relative", "x", NULL));
    CALL(execlp("relative/path", "x", NULL));
    CALL(execle("/etc", "x", NULL, environ));
    CALL(fexecve(-1, argv, environ));
    CALL(fexecve(0, argv, environ));
    CALL(execveat(AT_FDCWD, "/does/not/exist", argv, environ, 0));
    CALL(execveat(-1, "x", argv, environ, 0));
    CALL(execveat(AT_FDCWD, "/bin/true", argv, environ, 0x40000000));
    CALL(execve(nowhere, argv, environ));
}

static void spawn_calls(void)
{
    pid_t pid;
    int status;
    char *argv[] = { "sh", "-c", "exit 4", NULL };
    CALL(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ));
    CALL(waitpid(pid, &status, 0) == pid);
    CALL(posix_spawnp(NULL, "sh", NULL, NULL, argv, environ));
    CALL(wait(&status) > 0);
    CALL(posix_spawn(&pid, "/does/not/exist", NULL, NULL, argv, environ));
    CALL(posix_spawnp(&pid, "no-such-program", NULL, NULL, argv, environ));
}

static void system_calls(void)
{
    char text[16] = "";
    struct sigaction action;
    CALL(system(NULL));
    CALL(system("exit 6"));
    CALL(system("kill -9 $$"));
    CALL(system("no-such-program 2>/dev/null"));
    CALL(system("kill -INT $PPID; trap - INT; kill -INT $$"));
    sigaction(SIGINT, NULL, &action);
    printf("SIGINT as before %d\n", action.sa_handler == SIG_DFL);
    signal(SIGCHLD, SIG_IGN);
    CALL(system("exit 6"));
    signal(SIGCHLD, SIG_DFL);
    FILE *pipe = popen("echo out; exit 9", "r");
    printf("%s", fgets(text, sizeof text, pipe));
    CALL(pclose(pipe));
    pipe = popen("cat >/dev/null", "w");
    CALL(fputs("in", pipe) >= 0);
    CALL(pclose(pipe));
}

static void *cancelled(void *how)
{
    siginfo_t info;
    if (strcmp(how, "waitid") == 0)
        waitid(P_PID, (id_t)child, &info, WEXITED);
    else if (strcmp(how, "waitpid") == 0)
        waitpid(child, NULL, 0);
    else
        system("exec sleep 100");
    return NULL;
}

/* Each of them is a cancellation point. */
static void cancel_calls(void)
{
    make(true);
    waitpid(child, NULL, WUNTRACED);
    const char *hows[] = { "waitid", "waitpid", "system" };
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *result;
        CALL(pthread_create(&thread, NULL, cancelled, (void *)hows[i]));
        usleep(100000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        printf("%s cancelled %d\n", hows[i], result == PTHREAD_CANCELED);
    }
    kill(child, SIGKILL);
    CALL(waitpid(-1, NULL, 0) == child);
    CALL(wait(NULL));
}

int main(void)
{
    static const struct {
        const char *name;
        void (*calls)(void);
    } all[] = { { "wait", wait_calls },   { "waitid", waitid_calls }, { "exec", exec_calls },
                { "spawn", spawn_calls }, { "system", system_calls }, { "cancel", cancel_calls } };
    setvbuf(stdout, NULL, _IONBF, 0);
    umask(027);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        printf("-- %s\n", all[i].name);
        all[i].calls();
        show_state();
    }
    CALL(prctl(PR_GET_DUMPABLE));
    CALL(prctl(-1, 0, 0, 0, 0));
    return 0;
}
