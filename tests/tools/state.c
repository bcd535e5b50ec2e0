/* state: prints what a program inherits, one item per line, so that two runs can be compared: signal dispositions and mask,
 * umask, descriptors, limits, session, terminal, environment (without the probe's variables), errno of a failing call,
 * process attributes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void print_signals(void)
{
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) != 0)
            continue;
        printf("signal %d %s%s\n", i, action.sa_handler == SIG_IGN ? "ignored" : action.sa_handler ? "caught" : "default",
               sigismember(&mask, i) ? " blocked" : "");
    }
}

static void print_descriptors(void)
{
    for (int fd = 0; fd < 4096; fd++) {
        struct stat st;
        if (fstat(fd, &st) == 0)
            printf("descriptor %d flags %x %x device %lx inode %lu\n", fd, (unsigned)fcntl(fd, F_GETFL),
                   (unsigned)fcntl(fd, F_GETFD), (unsigned long)st.st_rdev, (unsigned long)st.st_ino);
    }
}

static void print_limits(void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit((__rlimit_resource_t)i, &limit);
        printf("limit %d %lu %lu\n", i, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
    }
}

static void print_session(void)
{
    printf("group leader %d, same group as parent %d, same session as parent %d\n", getpgrp() == getpid(),
           getpgrp() == getpgid(getppid()), getsid(0) == getsid(getppid()));
    int tty = open("/dev/tty", O_RDWR);
    printf("terminal %d foreground %d\n", tty >= 0, tty >= 0 && tcgetpgrp(tty) == getpgrp());
    close(tty);
}

static void print_environment(void)
{
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "SONDE_", 6) != 0 && strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "_=", 2) != 0)
            printf("environment %s\n", *e);
}

static void print_attributes(void)
{
    int reaper = 0, death = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    prctl(PR_GET_PDEATHSIG, &death);
    mode_t mask = umask(0);
    printf("umask %o\n", (unsigned)mask);
    printf("subreaper %d death signal %d dumpable %d no new privileges %d seccomp %d timer slack %d\n", reaper, death,
           prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP),
           prctl(PR_GET_TIMERSLACK));
    printf("nice %d policy %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
    errno = 0;
    int result = chdir("/does/not/exist");
    printf("errno %d %d\n", result, errno);
    printf("user %u %u group %u %u\n", getuid(), geteuid(), getgid(), getegid());
}

int main(void)
{
    int first = errno; /* C promises 0 at the start of main */
    print_descriptors();
    printf("errno at start %d\n", first);
    print_signals();
    print_limits();
    print_session();
    print_environment();
    print_attributes();
    return 0;
}
