/* spawn HOW COUNT AT_ONCE [COMMAND…]: starts COUNT children, AT_ONCE at a time, in one of the ways of Linux: fork, vfork,
 * posix_spawn, clone, clone3, and waits for them with the various wait functions. Without a COMMAND a forked or cloned
 * child exits at once. Exits with 0 if all children did. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char **command;

static void be_child(void)
{
    if (command[0])
        execvp(command[0], command);
    _exit(command[0] ? 127 : 0);
}

static int child_of_clone(void *nothing)
{
    (void)nothing;
    be_child();
    return 0;
}

static pid_t by_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        be_child();
    return pid;
}

static pid_t by_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) { /* only what vfork allows */
        execvp(command[0], command);
        _exit(127);
    }
    return pid;
}

static pid_t by_posix_spawn(void)
{
    pid_t pid;
    int number = posix_spawnp(&pid, command[0], NULL, NULL, command, environ);
    errno = number;
    return number ? -1 : pid;
}

static pid_t by_clone(void)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    return clone(child_of_clone, stack + sizeof stack, SIGCHLD, NULL);
}

static pid_t by_clone3(void)
{
    struct clone_args args = { .exit_signal = SIGCHLD };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        be_child();
    return pid;
}

static const struct { const char *name; pid_t (*make)(void); } ways[] = {
    { "fork", by_fork }, { "vfork", by_vfork }, { "posix_spawn", by_posix_spawn },
    { "clone", by_clone }, { "clone3", by_clone3 },
};

/* Uses each of the wait functions in turn. */
static int wait_for_one(long turn)
{
    int status = 0;
    siginfo_t info;
    struct rusage usage;
    switch (turn % 4) {
    case 0: wait(&status); break;
    case 1: waitpid(-1, &status, 0); break;
    case 2: wait4(-1, &status, 0, &usage); break;
    case 3:
        waitid(P_ALL, 0, &info, WEXITED);
        return info.si_code == CLD_EXITED && info.si_status == 0;
    }
    return status == 0;
}

int main(int argc, char **argv)
{
    size_t way = 0;
    while (argc >= 4 && way < sizeof ways / sizeof *ways && strcmp(ways[way].name, argv[1]) != 0)
        way++;
    if (argc < 4 || way == sizeof ways / sizeof *ways)
        return 2;
    long count = strtol(argv[2], NULL, 10), at_once = strtol(argv[3], NULL, 10), alive = 0, bad = 0;
    command = argv + 4;
    for (long i = 0; i < count; i++) {
        if (alive == at_once) {
            bad += !wait_for_one(i);
            alive--;
        }
        if (ways[way].make() < 0) {
            perror("spawn");
            return 3;
        }
        alive++;
    }
    for (; alive > 0; alive--)
        bad += !wait_for_one(alive);
    return bad ? 1 : 0;
}
