/* Makes a known number of system calls: caller MODE [TIMES]. Prints "ready", waits for a byte on stdin, does its work, prints
 * "done …" with what it has verified itself, and waits for the end of stdin. Apart from the work it only reads stdin and
 * writes stdout a few times. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int times = 1000;
static int null_fd, zero_fd;
static _Atomic int wrong;

/* For each of times: a write of 7 bytes, a read of 11, a pread of 5, a writev of 6, a getppid, a close that fails. */
static void work(void)
{
    char bytes[16] = "";
    struct iovec parts[] = { { bytes, 2 }, { bytes, 4 } };
    for (int i = 0; i < times; i++) {
        wrong += write(null_fd, bytes, 7) != 7;
        wrong += read(zero_fd, bytes, 11) != 11;
        wrong += pread(zero_fd, bytes, 5, 0) != 5;
        wrong += writev(null_fd, parts, 2) != 6;
        getppid();
        errno = 0;
        wrong += close(-1) != -1 || errno != EBADF;
    }
}

static void *work_thread(void *unused)
{
    work();
    return unused;
}

/* Threads that come and go, four at a time. */
static void in_threads(void)
{
    for (int round = 0; round < 5; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            wrong += pthread_create(&threads[i], NULL, work_thread, NULL) != 0;
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
}

static void in_children(void)
{
    int status;
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            work();
            _exit(wrong ? 1 : 42);
        }
        wrong += waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 42;
    }
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    wrong += waitpid(pid, &status, 0) != pid || status != 0;
}

static const char *self;

/* The process is replaced by exec from a thread other than the main one. */
static void *exec_thread(void *unused)
{
    char number[16];
    snprintf(number, sizeof number, "%d", times);
    execl(self, self, "now", number, (char *)NULL);
    wrong++;
    return unused;
}

static void *sleep_thread(void *unused)
{
    pause();
    return unused;
}

static void exec_in_thread(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, sleep_thread, NULL);
    pthread_create(&thread, NULL, exec_thread, NULL);
    pthread_join(thread, NULL);
}

static _Atomic int received, sum;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    received++;
    sum += info->si_value.sival_int;
}

/* A child sends queued signals with values, while we sleep, read and are continued. */
static void under_signals(void)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    int expected = 0;
    sigaction(SIGRTMIN, &action, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 1; i <= times; i++)
            while (sigqueue(getppid(), SIGRTMIN, (union sigval){ .sival_int = i }) != 0)
                sched_yield(); /* the queue is full */
        _exit(0);
    }
    for (int i = 1; i <= times; i++)
        expected += i;
    struct timespec pause_time = { 0, 1000000 };
    while (received < times) {
        char byte;
        wrong += read(zero_fd, &byte, 1) != 1;
        if (nanosleep(&pause_time, NULL) != 0)
            wrong += errno != EINTR;
    }
    while (waitpid(pid, NULL, 0) < 0)
        continue;
    wrong += received != times || sum != expected;
}

/* A wait that has no reason to end must not be interrupted. */
static void wait_for_events(void)
{
    int pipes[2];
    struct epoll_event event = { .events = EPOLLIN };
    if (pipe(pipes) != 0)
        return;
    int epoll_fd = epoll_create1(0);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipes[0], &event);
    for (int i = 0; i < times; i++)
        wrong += epoll_wait(epoll_fd, &event, 1, 20) != 0;
}

/* The same for messages: none are sent, and those that fill the other socket are not read. */
static void wait_for_messages(void)
{
    int empty[2], full[2];
    char bytes[1024] = "";
    struct iovec part = { bytes, sizeof bytes };
    struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
    struct timeval limit = { 0, 20000 };
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, empty) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, full) != 0)
        return;
    setsockopt(empty[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(full[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    while (send(full[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    for (int i = 0; i < times; i++) {
        wrong += recvmmsg(empty[0], &message, 1, 0, NULL) != -1 || errno != EAGAIN;
        wrong += sendmmsg(full[0], &message, 1, 0) != -1 || errno != EAGAIN;
    }
}

static void *read_for_ever(void *pipes)
{
    char byte;
    wrong += read(*(int *)pipes, &byte, 1) != -2; /* never returns */
    return NULL;
}

/* A thread that waits in a read is cancelled. */
static void cancel(void)
{
    int pipes[2];
    void *result = NULL;
    pthread_t thread;
    if (pipe(pipes) != 0)
        return;
    for (int i = 0; i < times; i++) {
        pthread_create(&thread, NULL, read_for_ever, pipes);
        if (i % 2)
            nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        wrong += result != PTHREAD_CANCELED;
    }
}

static void write_in_handler(int signal)
{
    int kept = errno;
    (void)signal;
    wrong += write(null_fd, "", 1) != 1;
    received++;
    errno = kept;
}

/* Handlers make the same system calls as the program, in the same thread. */
static void in_handlers(void)
{
    struct sigaction action = { .sa_handler = write_in_handler, .sa_flags = SA_RESTART };
    struct itimerval timer = { { 0, 200 }, { 0, 200 } }, none = { { 0, 0 }, { 0, 0 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (received < times) {
        char byte;
        wrong += read(zero_fd, &byte, 1) != 1;
        errno = 0;
        wrong += close(-1) != -1 || errno != EBADF;
    }
    setitimer(ITIMER_REAL, &none, NULL);
}

static int pipe_fds[2], to_come;

/* Makes the call that it interrupts; the last one releases a read that waits for a byte. */
static void call_in_handler(int signal)
{
    int kept = errno;
    struct iovec part = { "", 1 };
    (void)signal;
    wrong += writev(null_fd, &part, 1) != 1;
    received++;
    if (to_come && !--to_come)
        wrong += write(pipe_fds[1], "", 1) != 1;
    errno = kept;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void interrupt_every_20_ms(int flags)
{
    struct sigaction action = { .sa_handler = call_in_handler, .sa_flags = flags };
    struct itimerval timer = { { 0, 20000 }, { 0, 20000 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* A writev into a full pipe that fails because of a signal, `times` times; then a readv that is restarted after
 * each. Both wait as long as specified. */
static void broken_off(void)
{
    static char much[65536];
    struct iovec part = { much, 1 };
    struct itimerval none = { { 0, 0 }, { 0, 0 } };
    int64_t begin_ms, failed_ms = 0;
    wrong += pipe(pipe_fds) != 0 || fcntl(pipe_fds[1], F_SETPIPE_SZ, sizeof much) != sizeof much
             || write(pipe_fds[1], much, sizeof much) != sizeof much;
    for (int i = 0; i < times; i++) {
        interrupt_every_20_ms(0);
        begin_ms = now_ms();
        wrong += writev(pipe_fds[1], &part, 1) != -1 || errno != EINTR;
        failed_ms += now_ms() - begin_ms;
    }
    setitimer(ITIMER_REAL, &none, NULL);
    wrong += read(pipe_fds[0], much, sizeof much) != sizeof much;
    to_come = times;
    interrupt_every_20_ms(SA_RESTART);
    begin_ms = now_ms();
    wrong += readv(pipe_fds[0], &part, 1) != 1;
    printf("waited %lld %lld\n", (long long)failed_ms, (long long)(now_ms() - begin_ms));
    fflush(stdout);
    setitimer(ITIMER_REAL, &none, NULL);
}

/* Past libc's own functions of that name. */
static void through_stdio(void)
{
    FILE *file = fdopen(dup(null_fd), "w");
    for (int i = 0; file && i < times; i++) {
        fputs("hello", file);
        fflush(file);
    }
    if (file)
        fclose(file);
}

/* Calls of a program that is killed are not lost. */
static void be_killed(void)
{
    work();
    raise(SIGKILL);
}

/* Many of these fail, and report it. */
static void in_folders(const char *nowhere)
{
    char path[4096];
    struct statfs facts;
    wrong += !getcwd(path, sizeof path) || chdir(path) != 0 || fchdir(null_fd) != -1 || errno != ENOTDIR;
    wrong += statfs("/", &facts) != 0 || fstatfs(null_fd, &facts) != 0 || utimensat(-1, "/no/such", NULL, 0) != -1;
    wrong += futimens(null_fd, NULL) != 0 || linkat(-1, nowhere, -1, nowhere, 0) != -1 || symlinkat("x", -1, nowhere) != -1;
    wrong += fchmodat(-1, nowhere, 0600, 0) != -1 || chown(nowhere, 0, 0) != -1 || fchown(-1, 0, 0) != -1;
    wrong += lchown(nowhere, 0, 0) != -1 || fchownat(-1, nowhere, 0, 0, 0) != -1;
}

static void in_sockets(void)
{
    int fds[2], on = 1;
    struct sockaddr_storage address;
    socklen_t size = sizeof address, on_size = sizeof on;
    wrong += socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0 || listen(fds[0], 1) != -1;
    wrong += setsockopt(fds[0], SOL_SOCKET, SO_REUSEADDR, &on, on_size) != 0;
    wrong += getsockopt(fds[0], SOL_SOCKET, SO_TYPE, &on, &on_size) != 0 || on != SOCK_STREAM;
    wrong += getsockname(fds[0], (struct sockaddr *)&address, &size) != 0;
    size = sizeof address;
    wrong += getpeername(fds[0], (struct sockaddr *)&address, &size) != 0;
    close(fds[0]);
    close(fds[1]);
}

static void in_processes(void)
{
    siginfo_t info;
    struct rusage usage;
    errno = 0;
    wrong += kill(getpid(), 0) != 0 || wait(NULL) != -1 || waitpid(-1, NULL, 0) != -1 || wait3(NULL, 0, &usage) != -1;
    wrong += wait4(-1, NULL, 0, &usage) != -1 || waitid(P_ALL, 0, &info, WEXITED) != -1 || errno != ECHILD;
    close(epoll_create(1));
    close(epoll_create1(0));
}

static void in_queues(const char *name)
{
    char data[64] = "";
    struct mq_attr attributes = { .mq_maxmsg = 2, .mq_msgsize = sizeof data };
    struct timespec now = { 0, 0 };
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attributes);
    wrong += queue == (mqd_t)-1 || mq_open("/no-such-queue", O_RDONLY) != (mqd_t)-1;
    wrong += mq_send(queue, data, 9, 1) != 0 || mq_timedsend(queue, data, 5, 2, &now) != 0;
    wrong += mq_receive(queue, data, sizeof data, NULL) != 5 || mq_timedreceive(queue, data, sizeof data, NULL, &now) != 9;
    wrong += mq_getattr(queue, &attributes) != 0 || mq_setattr(queue, &attributes, NULL) != 0;
    wrong += mq_close(queue) != 0 || mq_unlink(name) != 0;
}

static void in_many_ways(void)
{
    char name[64];
    snprintf(name, sizeof name, "/sonde-caller-%d", getpid());
    for (int i = 0; i < times; i++) {
        in_folders("/no/such/file");
        in_sockets();
        in_processes();
        in_queues(name);
    }
}

/* From here on only read, write and the end of the thread are allowed, not even the time stamp counter. */
static void work_in_strict_mode(void)
{
    char bytes[8];
    for (int i = 0; i < times; i++)
        wrong += read(zero_fd, bytes, sizeof bytes) != sizeof bytes || write(null_fd, bytes, 2) != 2;
    wrong += write(STDOUT_FILENO, "strict\n", 7) != 7;
    syscall(SYS_exit, wrong != 0);
}

static void in_strict_mode(void)
{
    wrong += prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0;
    work_in_strict_mode();
}

/* libc has no function for it. */
static void in_strict_mode_by_seccomp(void)
{
    wrong += syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) != 0;
    work_in_strict_mode();
}

static void in_strict_mode_by_syscall(void)
{
    wrong += syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT; /* the kernel knows it */
    wrong += syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0;
    work_in_strict_mode();
}

static void await_byte(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        continue;
}

static void say(const char *word)
{
    char line[128];
    int size = snprintf(line, sizeof line, "%s wrong=%d received=%d\n", word, (int)wrong, (int)received);
    wrong += write(STDOUT_FILENO, line, (size_t)size) != size;
}

/* The main thread ends, and the process continues without it; works at the second byte. */
static void *work_alone(void *unused)
{
    await_byte();
    work();
    say("done");
    await_byte();
    exit(wrong != 0);
    return unused;
}

static void without_first(void)
{
    pthread_t thread;
    wrong += pthread_create(&thread, NULL, work_alone, NULL) != 0;
    pthread_exit(NULL);
}

/* System calls that do not exist. */
static void in_vain(void)
{
    for (int i = 0; i < times; i++)
        wrong += syscall(i % 2 ? -1 : 9999) != -1 || errno != ENOSYS;
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    { "work", work },           { "now", work },                  { "threads", in_threads },     { "children", in_children },
    { "exec", exec_in_thread }, { "signals", under_signals }, { "events", wait_for_events },
    { "cancel", cancel },       { "handlers", in_handlers },  { "stdio", through_stdio },    { "killed", be_killed },
    { "messages", wait_for_messages }, { "many", in_many_ways }, { "vain", in_vain },
    { "strict", in_strict_mode }, { "strict-seccomp", in_strict_mode_by_seccomp },
    { "strict-syscall", in_strict_mode_by_syscall }, { "alone", without_first }, { "broken", broken_off },
};

int main(int argc, char **argv)
{
    size_t mode = 0;
    self = "/proc/self/exe";
    while (argc > 1 && mode < sizeof modes / sizeof *modes && strcmp(modes[mode].name, argv[1]) != 0)
        mode++;
    if (argc < 2 || mode == sizeof modes / sizeof *modes)
        return 2;
    if (argc > 2)
        times = (int)strtol(argv[2], NULL, 10);
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (strcmp(argv[1], "now") != 0) {
        say("ready");
        await_byte();
    }
    modes[mode].run();
    say("done");
    await_byte();
    return wrong != 0;
}
