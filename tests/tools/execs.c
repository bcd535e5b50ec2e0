/* execs HOW: execs in which the flags that the probe passes on must not change anything. raw: past libc; tight: with the
 * largest possible environment; memfd: a file without a name; memory: a path that does not exist; forks: through each call
 * that forks inside libc, whose children exit with 0; thread: "burn 30", found in PATH, by a thread other than the main one,
 * which has used 40 ms, the main thread 20. */
#include "tools/burn.h"

#include <errno.h>
#include <pthread.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

extern char **environ;

static char *const argv_true[] = { "true", "x", NULL };

static int raw(void)
{
    syscall(SYS_execve, "/bin/true", argv_true, environ);
    return 1;
}

/* In a child: is there space for a string of this size in the environment? */
static bool fits(char *text, size_t size, char **envp)
{
    int status;
    text[size] = '\0';
    pid_t pid = fork();
    if (pid == 0) {
        syscall(SYS_execve, "/bin/true", argv_true, envp);
        _exit(9);
    }
    text[size] = 'x';
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static int tight(void)
{
    enum { TEXT_MAX = 128 << 10, TEXTS = 100 };
    static char *envp[TEXTS + 400];
    static char full[100 << 10];
    size_t count = 0, low = 8, high = TEXT_MAX - 8;
    char *last = malloc(TEXT_MAX);
    memset(full, 'y', sizeof full - 1);
    for (; environ[count] && count < 300; count++)
        envp[count] = environ[count];
    memset(last, 'x', TEXT_MAX);
    memcpy(last, "LAST=", 5);
    envp[count] = last;
    while (fits(last, high, envp) && count < sizeof envp / sizeof *envp - 2) { /* coarsely, then to the byte */
        envp[count + 1] = envp[count];
        envp[count++] = full;
    }
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        *(fits(last, middle, envp) ? &low : &high) = middle;
    }
    last[low] = '\0';
    execve("/bin/true", argv_true, envp);
    return errno == E2BIG ? 3 : 1;
}

/* Long enough to be found from outside. */
static int memfd(void)
{
    static char *const argv_sleep[] = { "sleep", "0.3", NULL };
    struct stat st;
    int from = open("/bin/sleep", O_RDONLY | O_CLOEXEC), to = memfd_create("nameless", MFD_CLOEXEC);
    if (from < 0 || to < 0 || fstat(from, &st) != 0 || sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
        return 1;
    fexecve(to, argv_sleep, environ);
    return 1;
}

static int memory(void)
{
    char *volatile nowhere = NULL;
    return execve(nowhere, argv_true, environ) == -1 && errno == EFAULT ? 0 : 1;
}

static int forks(void)
{
    int fd, status;
    pid_t pid = forkpty(&fd, NULL, NULL, NULL);
    if (pid == 0)
        exit(0);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return 1;
    return daemon(1, 1) == 0 ? 0 : 1; /* its child continues here */
}

static void *burn_and_exec(void *nothing)
{
    burn(CLOCK_THREAD_CPUTIME_ID, 40);
    execlp("burn", "burn", "30", NULL);
    return nothing;
}

static int thread(void)
{
    pthread_t other;
    burn(CLOCK_THREAD_CPUTIME_ID, 20);
    pthread_create(&other, NULL, burn_and_exec, NULL);
    pthread_join(other, NULL);
    return 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*way)(void);
    } ways[] = { { "raw", raw }, { "tight", tight }, { "memfd", memfd }, { "memory", memory }, { "forks", forks },
               { "thread", thread } };
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].way();
    return 64;
}
