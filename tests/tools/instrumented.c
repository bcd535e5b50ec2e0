/* A program instrumented with libsonde, in all the ways there are: instrumented MODE [NUMBER]. The modes are the
 * functions below; what each counts is known beforehand. Exits with 0, unless libsonde misbehaved. */
#include <sonde.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sonde_counter counted;
static struct sonde_real_counter summed;
static struct sonde_gauge level;
static struct sonde_histogram sizes;
static long number;
static char **arguments;

static void make_all(void)
{
    static const char *const labels[] = { "part", "a", NULL };
    static const double bounds[] = { 1, 2, 4 };
    if (sonde_counter_make(&counted, "phase_total", labels, "", "What was counted")
        || sonde_real_counter_make(&summed, "phase_seconds_total", labels, "seconds", "")
        || sonde_gauge_make(&level, "phase_level", NULL, NULL, NULL)
        || sonde_histogram_make(&sizes, "phase_sizes", NULL, "bytes", "", bounds, 3))
        fputs("instrumented: cannot create a metric\n", stderr);
}

static int count(void)
{
    make_all();
    for (long i = 0; i < number; i++)
        sonde_add(&counted, 1);
    sonde_add_real(&summed, 0.5);
    sonde_set(&level, 7.25);
    sonde_observe(&sizes, 2);
    sonde_observe(&sizes, 3);
    sonde_observe(&sizes, 5);
    return 0;
}

static int wait_on(void)
{
    count();
    puts("counted");
    fflush(stdout);
    pause();
    return 0;
}

static void *add_one(void *argument)
{
    sonde_add(&counted, 1);
    sonde_add_real(&summed, 0.5);
    return argument;
}

/* One after another. */
static int threads(void)
{
    make_all();
    for (long i = 0; i < number; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, add_one, NULL))
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}

static void *add_many(void *argument)
{
    for (long i = 0; i < number; i++) {
        sonde_add(&counted, 1);
        sonde_observe(&sizes, (double)(i % 6));
        sonde_gauge_add(&level, 1);
    }
    return argument;
}

/* Eight at a time. */
static int crowd(void)
{
    pthread_t all[8];
    make_all();
    for (int i = 0; i < 8; i++)
        if (pthread_create(&all[i], NULL, add_many, NULL))
            return 1;
    for (int i = 0; i < 8; i++)
        pthread_join(all[i], NULL);
    return 0;
}

/* Many metrics, created by two threads at the same time; each is created twice. */
static void *make_many(void *argument)
{
    for (long i = 0; i < number; i++) {
        char value[32];
        const char *labels[] = { "number", value, NULL };
        struct sonde_counter one;
        snprintf(value, sizeof value, "%ld", i);
        if (sonde_counter_make(&one, "phase_many_total", labels, "", "One of many"))
            return "failed";
        sonde_add(&one, 1);
    }
    return argument;
}

static int metrics(void)
{
    pthread_t other;
    void *result = NULL;
    if (pthread_create(&other, NULL, make_many, NULL))
        return 1;
    bool failed = make_many(NULL);
    pthread_join(other, &result);
    return failed || result;
}

static int forks(void)
{
    make_all();
    sonde_add(&counted, 1);
    sonde_set(&level, 1);
    for (int i = 0; i < number; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            sonde_add(&counted, 100);
            exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    sonde_add(&counted, 1);
    return 0;
}

/* Past libc, which therefore runs no handlers. */
static int raw_fork(void)
{
    make_all();
    sonde_add(&counted, 1);
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        sonde_add(&counted, 100);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    sonde_add(&counted, 1);
    return 0;
}

/* The child of a child of …, each of which counts, and starts a thread that does. */
static int fork_chain(void)
{
    make_all();
    for (int i = 0; i < number; i++) {
        pid_t pid = fork();
        if (pid) {
            int status = 1;
            waitpid(pid, &status, 0);
            return status != 0;
        }
        pthread_t thread;
        if (pthread_create(&thread, NULL, add_one, NULL) == 0)
            pthread_join(thread, NULL);
        sonde_add(&counted, 10);
    }
    return 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int vforks(void)
{
    make_all();
    sonde_add(&counted, 1);
    for (int i = 0; i < number; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            sonde_add(&counted, 1); /* for the parent, whose memory it shares */
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    return 0;
}
#pragma GCC diagnostic pop

static int execs(void)
{
    make_all();
    sonde_add(&counted, 5);
    execl("/proc/self/exe", arguments[0], "count", arguments[2], (char *)NULL);
    return 1;
}

static int execs_sleep(void)
{
    count();
    execlp("sleep", "sleep", arguments[2], (char *)NULL);
    return 1;
}

/* Leaves a child that has the segment mapped and never counts, and prints its pid. */
static int orphans(void)
{
    count();
    pid_t pid = fork();
    if (pid == 0) {
        close(1);
        sleep(60);
        _exit(0);
    }
    printf("%d\n", (int)pid);
    fflush(stdout);
    _exit(0);
}

/* One line on stdin, another, and the end. */
static void *count_late(void *argument)
{
    puts("counted");
    fflush(stdout);
    getchar();
    sonde_add(&counted, 1);
    exit(0);
    return argument;
}

/* The main thread ends, the other one continues. */
static int first_ends(void)
{
    pthread_t thread;
    count();
    if (pthread_create(&thread, NULL, count_late, NULL))
        return 1;
    pthread_exit(NULL);
}

static int killed(void)
{
    count();
    raise(SIGKILL);
    return 1;
}

static int leaves(void)
{
    count();
    _exit(0);
}

/* As daemons do; then a new thread and a new metric. */
static int closes(void)
{
    make_all();
    sonde_add(&counted, 1);
    for (int fd = 0; fd < 256; fd++)
        close(fd);
    pthread_t thread;
    if (pthread_create(&thread, NULL, add_one, NULL) == 0)
        pthread_join(thread, NULL);
    struct sonde_counter late;
    sonde_counter_make(&late, "phase_late_total", NULL, "", "");
    sonde_add(&late, 3);
    return open("/dev/null", O_RDONLY) != 0; /* none was left open */
}

static volatile sig_atomic_t handled;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    int kept = errno;
    sonde_add(&counted, 1);
    sonde_add_real(&summed, 1);
    sonde_observe(&sizes, 1);
    handled++;
    errno = kept;
}

/* A handler that counts what the program counts at the same moment. Prints the expected total. */
static int handler(void)
{
    make_all();
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    struct itimerval fast = { { 0, 50 }, { 0, 50 } }, off = { { 0, 0 }, { 0, 0 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &fast, NULL);
    long adds = 0;
    for (; handled < number; adds++) {
        sonde_add(&counted, 1);
        sonde_add_real(&summed, 1);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    signal(SIGALRM, SIG_IGN);
    printf("%ld\n", adds + (long)handled);
    return 0;
}

/* The first count of a thread happens in a handler. */
static int first_in_handler(void)
{
    make_all();
    signal(SIGALRM, on_alarm);
    raise(SIGALRM);
    return 0;
}

static int odd(void)
{
    char *big = malloc(70000);
    if (!big)
        return 1;
    memset(big, 'x', 70000);
    struct sonde_counter counter;
    const char *quotes[] = { "a b", "say \"hi\"\n\\", NULL }, *half[] = { "a", NULL };
    double falling[] = { 2, 1 }, nan_bound[] = { NAN };
    printf("%d", sonde_counter_make(&counter, "odd \"name\"\nevil_total 666", quotes, "", "Help\nof two lines"));
    sonde_add(&counter, 1);
    big[10000] = '\0';
    printf(" %d", sonde_counter_make(&counter, big, NULL, "", ""));
    sonde_add(&counter, 1);
    big[10000] = 'x';
    big[69999] = '\0';
    printf(" %d", sonde_counter_make(&counter, big, NULL, "", ""));
    sonde_add(&counter, 1);
    printf(" %d", sonde_counter_make(&counter, "", NULL, "", ""));
    printf(" %d", sonde_counter_make(&counter, NULL, NULL, "", ""));
    printf(" %d", sonde_counter_make(&counter, "half", half, "", ""));
    printf(" %d", sonde_histogram_make(&sizes, "falling", NULL, "", "", falling, 2));
    printf(" %d", sonde_histogram_make(&sizes, "nan", NULL, "", "", nan_bound, 1));
    printf(" %d\n", sonde_histogram_make(&sizes, "many", NULL, "", "", NULL, 1000000));
    free(big);
    return 0;
}

static int types(void)
{
    struct sonde_gauge gauge;
    struct sonde_real_counter real;
    static const char *const other[] = { "part", "b", NULL };
    static const double bounds[] = { 1, 3 };
    make_all();
    uint32_t place = counted.place;
    printf("%d", sonde_gauge_make(&gauge, "phase_total", NULL, "", ""));
    sonde_set(&gauge, 5);
    printf(" %d", sonde_real_counter_make(&real, "phase_total", other, "", ""));
    sonde_add_real(&real, 5);
    printf(" %d", sonde_histogram_make(&sizes, "phase_sizes", NULL, "", "", bounds, 2));
    sonde_observe(&sizes, 1);
    make_all();
    printf(" %d\n", counted.place == place);
    sonde_add(&counted, 1);
    return 0;
}

/* Threads and metrics until there is no space, and then some more. */
static int full(void)
{
    int result = SONDE_OK;
    make_all();
    for (long i = 0; i < number; i++) {
        char name[32];
        struct sonde_counter one;
        snprintf(name, sizeof name, "full_%ld_total", i);
        result = sonde_counter_make(&one, name, NULL, "", "");
        sonde_add(&one, 1);
        pthread_t thread;
        if (i % 100 == 0 && pthread_create(&thread, NULL, add_one, NULL) == 0)
            pthread_join(thread, NULL);
    }
    count();
    printf("%s\n", sonde_result_text(result));
    return 0;
}

/* With a limit of the address space, in MiB. */
static int narrow(void)
{
    struct rlimit limit = { (rlim_t)number << 20, (rlim_t)number << 20 };
    setrlimit(RLIMIT_AS, &limit);
    number = 1000;
    return count();
}

/* With a limit of file sizes, in KiB: exceeding it raises a signal. */
static int small_files(void)
{
    struct rlimit limit = { (rlim_t)number << 10, (rlim_t)number << 10 };
    setrlimit(RLIMIT_FSIZE, &limit);
    number = 1000;
    return metrics() || count();
}

static int locked(void)
{
    if (mlockall(MCL_CURRENT))
        puts("may not lock");
    count();
    if (mlockall(MCL_CURRENT | MCL_FUTURE))
        puts("may not lock");
    return count();
}

/* As on kernels before 4.14, which can neither zero memory in a child nor populate it: children, threads, a full
 * file. */
static int old_kernel(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 18 /* MADV_WIPEONFORK */, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23 /* MADV_POPULATE_WRITE */, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 1;
    return forks() || threads();
}

static int keeps_errno(void)
{
    errno = 4711;
    count();
    return errno != 4711;
}

static int ranked(void)
{
    count();
    sonde_rank(3, 8);
    return 0;
}

static const struct mode {
    const char *name;
    int (*act)(void);
} modes[] = {
    { "count", count },           { "wait", wait_on },           { "threads", threads },
    { "crowd", crowd },           { "metrics", metrics },        { "fork", forks },
    { "raw-fork", raw_fork },     { "fork-chain", fork_chain },  { "vfork", vforks },
    { "exec", execs },            { "killed", killed },          { "leaves", leaves },
    { "closes", closes },         { "handler", handler },        { "first-in-handler", first_in_handler },
    { "odd", odd },               { "types", types },
    { "full", full },             { "narrow", narrow },          { "small-files", small_files },
    { "locked", locked },         { "errno", keeps_errno },      { "rank", ranked },
    { "exec-sleep", execs_sleep }, { "orphan", orphans },        { "old-kernel", old_kernel },
    { "first-ends", first_ends },
};

int main(int argc, char **argv)
{
    arguments = argv;
    number = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].act();
    fputs("instrumented: unknown mode\n", stderr);
    return 2;
}
