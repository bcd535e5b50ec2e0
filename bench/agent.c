/* bench-agent SONDE BASELINE [ROUNDS]: the cost of the agent with the six sets of LDMS: CPU time per cycle compared with a bare
 * pread-and-parse of the same files at the same time, system calls, resident memory, and the precision of its ticks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIX "meminfo,vmstat,stat,loadavg,netdev,diskstats"
#define SAMPLES_MAX 4096
#define ROUNDS_MAX 100

/* A root with this node's /proc and no cgroups, so that jobs of this node are not measured. */
static char root[] = "/tmp/bench-agent-root-XXXXXX", root_proc[sizeof root + 8];

static void die(const char *message)
{
    perror(message);
    exit(1);
}

static void remove_root(void)
{
    unlink(root_proc);
    rmdir(root);
}

static void make_root(void)
{
    if (!mkdtemp(root))
        die(root);
    snprintf(root_proc, sizeof root_proc, "%s/proc", root);
    if (symlink("/proc", root_proc))
        die(root_proc);
    atexit(remove_root);
}

static uint64_t clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_ms(unsigned ms)
{
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

static pid_t start(char *const argv[])
{
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGTERM);
    if (waitpid(pid, NULL, 0) != pid)
        die("waitpid");
}

static uint64_t cpu_ns(pid_t pid)
{
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock))
        die("clock_getcpuclockid");
    return clock_of(clock);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

/* Sleeps until a quarter of a period after the agent's tick, when neither process works. */
static void sleep_to_quiet(uint64_t period_ns)
{
    uint64_t left_ns = period_ns - clock_of(CLOCK_REALTIME) % period_ns + period_ns / 4;
    struct timespec t = { (time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000) };
    nanosleep(&t, NULL);
}

/* Both run at the same time, half a period apart, so that other load affects both. Compares the medians of CPU time per cycle over
 * the rounds. */
static void compare(char *sonde, char *baseline, unsigned period_ms, unsigned cycles, unsigned rounds)
{
    char period[32], number[32], offset[32];
    double agent[ROUNDS_MAX], bare[ROUNDS_MAX];
    snprintf(period, sizeof period, "%ums", period_ms);
    snprintf(number, sizeof number, "%u", period_ms);
    snprintf(offset, sizeof offset, "%u", period_ms / 2);
    char *agent_argv[] = { sonde, "agent", "-c", "/dev/null", "-p", period, "--sensors", SIX, "--listen", "none", "--socket",
                           "none", "--root", root, NULL };
    char *baseline_argv[] = { baseline, number, offset, NULL };
    pid_t agent_pid = start(agent_argv), bare_pid = start(baseline_argv);
    uint64_t period_ns = (uint64_t)period_ms * 1000000;
    sleep_ms(period_ms < 250 ? 500 : period_ms * 2);
    sleep_to_quiet(period_ns);
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t agent_ns = cpu_ns(agent_pid), bare_ns = cpu_ns(bare_pid);
        sleep_ms((cycles - 1) * period_ms);
        sleep_to_quiet(period_ns);
        agent[i] = (double)(cpu_ns(agent_pid) - agent_ns) / cycles / 1000;
        bare[i] = (double)(cpu_ns(bare_pid) - bare_ns) / cycles / 1000;
    }
    stop(agent_pid);
    stop(bare_pid);
    double a = median(agent, rounds), b = median(bare, rounds);
    printf("   every %-6s  agent %6.0f us   bare %6.0f us   x%.2f   (minimum %.0f and %.0f us)\n", period, a, b, a / b, agent[0],
           bare[0]);
    fflush(stdout);
}

static void show_memory(char *sonde)
{
    char *argv[] = { sonde, "agent", "-c", "/dev/null", "-p", "100ms", "--sensors", SIX, "--listen", "127.0.0.1:0",
                     "--socket", "none", NULL };
    char path[64], line[256];
    pid_t pid = start(argv);
    sleep_ms(1500);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmRSS", 5) || !strncmp(line, "RssAnon", 7) || !strncmp(line, "RssFile", 7))
            printf("   %s", line);
    if (file)
        fclose(file);
    stop(pid);
}

/* Follows the agent's system calls over a number of ticks. */
static void show_calls(char *sonde)
{
    char *argv[] = { sonde, "agent", "-c", "/dev/null", "-p", "50ms", "--sensors", SIX, "--listen", "none", "--socket",
                     "none", "--root", root, NULL };
    pid_t pid = start(argv);
    int status;
    unsigned stops = 0;
    sleep_ms(1000);
    if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
        die("ptrace");
    uint64_t begin_ns = 0;
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        begin_ns = begin_ns ? begin_ns : clock_of(CLOCK_MONOTONIC);
        stops += WSTOPSIG(status) == (SIGTRAP | 0x80);
        if (clock_of(CLOCK_MONOTONIC) - begin_ns > 3000000000u)
            break;
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
    }
    double ticks = (double)(clock_of(CLOCK_MONOTONIC) - begin_ns) / 50e6;
    printf("   %.1f system calls per cycle\n", stops / 2.0 / ticks);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    stop(pid);
}

/* Delays of samples, in memory shared with a child. */
struct delays {
    unsigned count;
    double us[SAMPLES_MAX];
};

static void show_delays(const char *who, unsigned period_ms, struct delays *delays)
{
    unsigned count = delays->count;
    double *us = delays->us;
    qsort(us, count, sizeof *us, by_size);
    if (count)
        printf("   %-5s %u ticks of %u ms: delay %.0f us (median), %.0f (99th percentile), %.0f (maximum)\n", who, count,
               period_ms, us[count / 2], us[count * 99 / 100], us[count - 1]);
}

/* The minimum delay of a process on this node at this time: sleeps until halfway between two ticks of the agent, reads the same file
 * and then the clock. */
static void sleep_bare(struct delays *delays, uint64_t period_ns)
{
    char text[128];
    int fd = open("/proc/loadavg", O_RDONLY);
    prctl(PR_SET_TIMERSLACK, 1);
    for (; delays->count < SAMPLES_MAX; delays->count++) {
        uint64_t now_ns = clock_of(CLOCK_REALTIME), next_ns = now_ns - now_ns % period_ns + period_ns + period_ns / 2;
        struct timespec next = { (time_t)(next_ns / 1000000000), (long)(next_ns % 1000000000) };
        while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &next, NULL) == EINTR) { }
        if (pread(fd, text, sizeof text, 0) <= 0)
            _exit(1);
        delays->us[delays->count] = (double)(clock_of(CLOCK_REALTIME) - next_ns) / 1000;
    }
    _exit(0);
}

/* The time of a tick is the first multiple of the period after the previous sample. */
static void read_delays(int fd, struct delays *delays, uint64_t period_ns)
{
    char line[512];
    uint64_t due_ns = 0;
    FILE *file = fdopen(fd, "r");
    if (!file)
        die("fdopen");
    while (fgets(line, sizeof line, file) && delays->count < SAMPLES_MAX) {
        uint64_t read_ns = strtoull(line, NULL, 10);
        if (!read_ns)
            continue;
        if (due_ns && read_ns >= due_ns)
            delays->us[delays->count++] = (double)(read_ns - due_ns) / 1000;
        due_ns = read_ns - read_ns % period_ns + period_ns;
    }
    fclose(file);
}

/* The delay of samples after a multiple of the period, compared with that of a bare process: what both have in common is due to the
 * node. */
static void show_jitter(char *sonde, unsigned period_ms, unsigned ticks)
{
    char path[] = "/tmp/bench-agent-XXXXXX", sink[64], period[32];
    static struct delays agent;
    uint64_t period_ns = (uint64_t)period_ms * 1000000;
    struct delays *bare = mmap(NULL, sizeof *bare, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = mkstemp(path);
    if (fd < 0 || bare == MAP_FAILED)
        die(path);
    agent.count = 0;
    snprintf(sink, sizeof sink, "csv:path=%s,set=loadavg", path);
    snprintf(period, sizeof period, "%ums", period_ms);
    char *argv[] = { sonde, "agent", "-c", "/dev/null", "-p", period, "--sensors", "loadavg", "--listen", "none", "--socket",
                     "none", "--sink", sink, NULL };
    pid_t agent_pid = start(argv), bare_pid = fork();
    if (bare_pid == 0)
        sleep_bare(bare, period_ns);
    sleep_ms(ticks * period_ms);
    stop(agent_pid);
    stop(bare_pid);
    read_delays(fd, &agent, period_ns);
    unlink(path);
    show_delays("agent", period_ms, &agent);
    show_delays("bare", period_ms, bare);
    fflush(stdout);
    munmap(bare, sizeof *bare);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench-agent SONDE BASELINE [ROUNDS]\n");
        return 2;
    }
    unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 40;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    make_root();
    compare(argv[1], argv[2], 1000, 1, rounds);
    compare(argv[1], argv[2], 10, 20, rounds);
    show_calls(argv[1]);
    show_memory(argv[1]);
    show_jitter(argv[1], 10, 1000);
    show_jitter(argv[1], 1000, 105);
    return 0;
}
