/* acts WHAT [MORE]: one thing that a program may do, for tests of the probe: processes, execs, threads, and what
 * must not harm it. Exits with 0 if all went well. See the table at the end. */
#include "tools/burn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

extern char **environ;
static char *own_path;

static int wait_for(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int do_nothing(const char *more)
{
    (void)more;
    return 0;
}

static int do_return(const char *more)
{
    return atoi(more);
}

static int do_quick_exit(const char *more)
{
    quick_exit(atoi(more));
}

static int do_fork(const char *more)
{
    (void)more;
    pid_t pid = fork();
    if (pid == 0)
        exit(3);
    return wait_for(pid) == 3 ? 0 : 1;
}

static int do_fork_in_thread_run(void *more)
{
    return do_fork(more);
}

static int do_fork_in_thread(const char *more)
{
    thrd_t thread;
    int result = 1;
    thrd_create(&thread, do_fork_in_thread_run, (void *)more);
    thrd_join(thread, &result);
    return result;
}

/* A vfork child that execs; one whose exec fails; one that ends at once. */
static int do_vfork(const char *more)
{
    pid_t pid = vfork();
    if (pid == 0) {
        if (strcmp(more, "exec") == 0)
            execl(own_path, "acts", "return", "7", NULL);
        else if (strcmp(more, "fail") == 0)
            execl("/etc/passwd", "no program", NULL);
        _exit(7);
    }
    return wait_for(pid) == 7 ? 0 : 1;
}

static int do_spawn_one(void)
{
    pid_t pid;
    char *argv[] = { "acts", "return", "8", NULL };
    return posix_spawn(&pid, own_path, NULL, NULL, argv, environ) == 0 && wait_for(pid) == 8 ? 0 : 1;
}

static int do_spawn(const char *more)
{
    (void)more;
    pid_t pid;
    char *argv[] = { "true", "x", NULL };
    int good = do_spawn_one() == 0 && posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0 && wait_for(pid) == 0;
    return good && posix_spawn(&pid, "/does/not/exist", NULL, NULL, (char *[]){ "x", NULL }, environ) == ENOENT ? 0 : 1;
}

/* Every way to wait, including those inside libc. */
static int do_waits(const char *more)
{
    siginfo_t info;
    char text[16] = "";
    FILE *pipe = popen("echo x; exit 4", "r");
    int good = pipe && fgets(text, sizeof text, pipe) && pclose(pipe) == 4 << 8 && system("exit 5") == 5 << 8;
    good = good && do_fork(more) == 0 && do_spawn_one() == 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(6);
    return good && waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 && info.si_status == 6 ? 0 : 1;
}

/* chain N: N more images of this pid; each uses 20 ms and writes 1,000 bytes. */
static int do_chain(const char *more)
{
    char rest[16], text[1000] = "";
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    burn(CLOCK_PROCESS_CPUTIME_ID, 20);
    if (write(null, text, sizeof text) != sizeof text)
        return 1;
    snprintf(rest, sizeof rest, "%d", atoi(more) - 1);
    if (atoi(more) > 0)
        execl(own_path, "acts", "chain", rest, NULL);
    return 0;
}

static int do_exec(const char *more)
{
    char *argv[] = { "acts", "nothing", (char *)more, NULL };
    int folder = open("/", O_PATH | O_DIRECTORY), own = open(own_path, O_PATH);
    if (strcmp(more, "execv") == 0)
        execv(own_path, argv);
    else if (strcmp(more, "execve") == 0)
        execve(own_path, argv, environ);
    else if (strcmp(more, "execvp") == 0)
        execvp("acts", argv);
    else if (strcmp(more, "execvpe") == 0)
        execvpe("acts", argv, environ);
    else if (strcmp(more, "execl") == 0)
        execl(own_path, "acts", "nothing", more, NULL);
    else if (strcmp(more, "execlp") == 0)
        execlp("acts", "acts", "nothing", more, NULL);
    else if (strcmp(more, "execle") == 0)
        execle(own_path, "acts", "nothing", more, NULL, environ);
    else if (strcmp(more, "fexecve") == 0)
        fexecve(own, argv, environ);
    else if (strcmp(more, "execveat") == 0)
        execveat(folder, own_path + 1, argv, environ, 0);
    else if (strcmp(more, "execveat_empty") == 0)
        execveat(own, "", argv, environ, AT_EMPTY_PATH);
    return 1;
}

/* exec_fails FILE: an executable file in no valid format; then files that do not exist or are not executable. */
static int do_exec_fails(const char *more)
{
    char *argv[] = { "x", NULL };
    int good = execv(more, argv) == -1 && errno == ENOEXEC;
    good = good && execv("/does/not/exist", argv) == -1 && errno == ENOENT;
    return good && execvp("no such program", argv) == -1 && errno == ENOENT ? 0 : 1;
}

static int do_exec_with_threads_wait(void *burned)
{
    burn(CLOCK_THREAD_CPUTIME_ID, 20);
    pthread_barrier_wait(burned);
    pause();
    return 0;
}

static int do_exec_with_threads(const char *more)
{
    (void)more;
    thrd_t thread;
    pthread_barrier_t burned;
    pthread_barrier_init(&burned, NULL, 4);
    for (int i = 0; i < 3; i++)
        thrd_create(&thread, do_exec_with_threads_wait, &burned);
    pthread_barrier_wait(&burned);
    return execl(own_path, "acts", "nothing", NULL);
}

/* threads HOW: three threads, each using 20 ms, that end this way. */
static const char *thread_how;
static pthread_key_t late;
static pthread_barrier_t thread_burned;

static void destructor(void *rounds)
{
    if ((uintptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(late, (void *)((uintptr_t)rounds + 1));
    burn(CLOCK_THREAD_CPUTIME_ID, 10);
}

static void *thread_run(void *value)
{
    pthread_setname_np(pthread_self(), "worker");
    burn(CLOCK_THREAD_CPUTIME_ID, 20);
    if (strcmp(thread_how, "c11") != 0)
        pthread_barrier_wait(&thread_burned);
    if (strcmp(thread_how, "exit") == 0)
        pthread_exit(value);
    if (strcmp(thread_how, "destructor") == 0)
        pthread_setspecific(late, (void *)1);
    if (strcmp(thread_how, "unasked") == 0)
        burn(CLOCK_MONOTONIC, 23); /* without a system call, so that the kernel does not account its time */
    while (strcmp(thread_how, "cancel") == 0 || strcmp(thread_how, "alive") == 0)
        sleep(1);
    return value;
}

static int thread_run_c11(void *value)
{
    thread_run(value);
    return 5;
}

static int threads_c11(void)
{
    int result, good = 1;
    for (int i = 0; i < 3; i++) {
        thrd_t thread;
        good = thrd_create(&thread, thread_run_c11, NULL) == thrd_success && thrd_join(thread, &result) == thrd_success &&
               result == 5 && good;
    }
    return good ? 0 : 1;
}

static int threads_join(pthread_t *threads)
{
    for (int i = 0; i < 3; i++) {
        void *result;
        if (strcmp(thread_how, "cancel") == 0)
            pthread_cancel(threads[i]);
        if (pthread_join(threads[i], &result) != 0)
            return 1;
        if (result != (strcmp(thread_how, "cancel") == 0 ? PTHREAD_CANCELED : &thread_how))
            return 2;
    }
    return 0;
}

static int do_threads(const char *more)
{
    pthread_t threads[3];
    pthread_attr_t attributes;
    thread_how = more;
    pthread_barrier_init(&thread_burned, NULL, 4);
    pthread_key_create(&late, destructor);
    pthread_attr_init(&attributes);
    if (strcmp(more, "detached") == 0)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (strcmp(more, "small") == 0)
        pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
    if (strcmp(more, "c11") == 0)
        return threads_c11();
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], &attributes, thread_run, &thread_how) != 0)
            return 1;
    pthread_barrier_wait(&thread_burned);
    if (strcmp(more, "detached") == 0)
        sleep(1); /* there is no other way to know that they have ended */
    return strcmp(more, "detached") == 0 || strcmp(more, "alive") == 0 ? 0 : threads_join(threads);
}

/* In a forked child of a multi-threaded process: ends while it creates its first thread, for which there is no
 * stack. */
static void end_at_once(int signal)
{
    (void)signal;
    _exit(0);
}

static void *never_runs(void *nothing)
{
    return nothing;
}

/* real: libc's own syscall, which installs the filter past the probe. */
static int make_thread_without_memory(long (*real)(long, ...))
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
    pthread_attr_t attributes;
    pthread_t thread;
    signal(SIGSYS, end_at_once);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64u << 20); /* no cached stack has this size */
    real(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
    if (real(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, &program) != 0)
        return 3;
    pthread_create(&thread, &attributes, never_runs, NULL);
    return 4;
}

static int do_unborn_thread(const char *more)
{
    (void)more;
    int status = 0;
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    long (*real)(long, ...) = libc ? (long (*)(long, ...))(uintptr_t)dlsym(libc, "syscall") : NULL;
    if (!real || do_threads("alive") != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(make_thread_without_memory(real));
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* The main thread ends first, the process with its last thread. */
static void *outlive(void *nothing)
{
    burn(CLOCK_THREAD_CPUTIME_ID, 30);
    return nothing;
}

static int do_main_first(const char *more)
{
    (void)more;
    pthread_t thread;
    burn(CLOCK_THREAD_CPUTIME_ID, 20);
    pthread_create(&thread, NULL, outlive, NULL);
    pthread_exit(NULL);
}

static int do_io(const char *more)
{
    char text[5000] = "";
    int null = open("/dev/null", O_RDWR), own = open("/proc/self/io", O_RDONLY), zero = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 3; i++)
        if (write(null, text, sizeof text) < 0 || read(zero, text, 700) != 700)
            return 1;
    ssize_t size = strcmp(more, "print") == 0 ? read(own, text, sizeof text) : 0;
    return write(STDOUT_FILENO, text, (size_t)size) == size ? 0 : 1;
}

static int do_file_limit(const char *more)
{
    (void)more;
    struct rlimit limit = { 10, 10 };
    setrlimit(RLIMIT_FSIZE, &limit);
    return do_fork("");
}

static int do_no_descriptors(const char *more)
{
    (void)more;
    struct rlimit limit = { 100, 200 };
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    int good = errno == EMFILE && do_fork("") == 0 && open("/dev/null", O_RDONLY) < 0 && errno == EMFILE;
    return good && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 100 ? 0 : 1;
}

static int do_clear_environment(const char *more)
{
    (void)more;
    for (char **text = environ; *text; text++)
        memset(*text, 'x', strlen(*text));
    clearenv();
    return do_fork("");
}

/* Allows itself what it needs to print and to end, and dies for anything else. more: "rights": as root may, without
 * no-new-privileges; "clone": in a child unknown to libc. */
static int do_seccomp(const char *more)
{
    int status = 0;
    pid_t pid = strcmp(more, "clone") == 0 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L) : 0;
    if (pid)
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    if (!*more && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 1;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return errno == EACCES ? 77 : 1;
    return write(STDOUT_FILENO, "alive\n", 6) == 6 ? 0 : 1;
}

/* Forks and ends processes from a signal handler, in the one way that is allowed there, while threads and children
 * come and go. */
static void interrupt(int number)
{
    (void)number;
    int kept = errno;
    if (_Fork() == 0)
        _exit(0);
    errno = kept;
}

static int do_signals(const char *more)
{
    struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
    struct sigaction action = { .sa_handler = interrupt, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < atoi(more); i++) {
        thrd_t thread;
        thrd_create(&thread, do_fork_in_thread_run, "");
        thrd_join(thread, NULL);
        if (do_fork("") != 0)
            return 1;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}

static int do_burn(const char *more)
{
    burn(CLOCK_PROCESS_CPUTIME_ID, atoi(more));
    return 0;
}

static int do_sync(const char *more)
{
    for (int i = 0; i < atoi(more); i++)
        sync();
    return 0;
}

static const struct {
    const char *name;
    int (*act)(const char *more);
} acts[] = {
    { "nothing", do_nothing },         { "return", do_return },
    { "quick_exit", do_quick_exit },   { "fork", do_fork },
    { "fork_in_thread", do_fork_in_thread }, { "vfork", do_vfork },
    { "spawn", do_spawn },             { "waits", do_waits },
    { "chain", do_chain },
    { "exec", do_exec },               { "exec_fails", do_exec_fails },
    { "exec_with_threads", do_exec_with_threads }, { "threads", do_threads },
    { "unborn_thread", do_unborn_thread },
    { "main_first", do_main_first },   { "io", do_io },
    { "file_limit", do_file_limit },   { "no_descriptors", do_no_descriptors },
    { "clear_environment", do_clear_environment }, { "seccomp", do_seccomp },
    { "signals", do_signals },         { "burn", do_burn },
    { "sync", do_sync },
};

int main(int argc, char **argv)
{
    static char path[4096];
    own_path = realpath("/proc/self/exe", path);
    for (size_t i = 0; argc > 1 && i < sizeof acts / sizeof *acts; i++)
        if (strcmp(acts[i].name, argv[1]) == 0)
            return acts[i].act(argc > 2 && argv[2] ? argv[2] : "");
    return 64;
}
