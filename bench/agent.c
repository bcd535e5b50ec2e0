/* What the agent costs for the six sets of LDMS: CPU per cycle beside a bare pread-and-parse of the same files in the same
 * minute, system calls, resident memory, and how exactly it ticks. bench-agent SONDE BASELINE [ROUNDS]. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIX "meminfo,vmstat,stat,loadavg,netdev,diskstats"
#define SAMPLES_MAX 4096

static void die(const char *message)
{
    perror(message);
    exit(1);
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

/* CPU time per cycle, in us, of a program that ticks at period_ms: between two ticks, so that whole cycles are counted. */
static double cost_us(char *const argv[], unsigned period_ms, unsigned cycles)
{
    pid_t pid = start(argv);
    unsigned warm_ms = period_ms < 100 ? 500 : period_ms * 2;
    sleep_ms(warm_ms);
    uint64_t now_ns = clock_of(CLOCK_REALTIME), period_ns = (uint64_t)period_ms * 1000000;
    sleep_ms((unsigned)((period_ns - now_ns % period_ns + period_ns / 2) / 1000000));
    uint64_t before = cpu_ns(pid);
    sleep_ms(cycles * period_ms);
    uint64_t used = cpu_ns(pid) - before;
    stop(pid);
    return (double)used / cycles / 1000;
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

static void compare(char *sonde, char *baseline, unsigned period_ms, unsigned cycles, unsigned rounds)
{
    char period[32], number[32];
    snprintf(period, sizeof period, "%ums", period_ms);
    snprintf(number, sizeof number, "%u", period_ms);
    char *agent_argv[] = { sonde, "agent", "-c", "/dev/null", "-p", period, "--sensors", SIX, "--listen", "none", "--socket",
                           "none", NULL };
    char *baseline_argv[] = { baseline, number, NULL };
    double agent[64], bare[64];
    rounds = rounds > 64 ? 64 : rounds;
    for (unsigned i = 0; i < rounds; i++) {
        bare[i] = cost_us(baseline_argv, period_ms, cycles);
        agent[i] = cost_us(agent_argv, period_ms, cycles);
    }
    double a = median(agent, rounds), b = median(bare, rounds);
    printf("   every %-6s  agent %6.0f us   bare %6.0f us   x%.2f   (best %.0f and %.0f us, x%.2f)\n", period, a, b, a / b,
           agent[0], bare[0], agent[0] / bare[0]);
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
                     "none", NULL };
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
    printf("   %.1f system calls per cycle\n", stops / 2 / ticks);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    stop(pid);
}

/* How long after a multiple of 10 ms samples were read. */
static void show_jitter(char *sonde)
{
    char path[] = "/tmp/bench-agent-XXXXXX", sink[64], line[512];
    static double late_us[SAMPLES_MAX];
    unsigned count = 0;
    int fd = mkstemp(path);
    if (fd < 0)
        die(path);
    snprintf(sink, sizeof sink, "csv:path=%s,set=loadavg", path);
    char *argv[] = { sonde, "agent", "-c", "/dev/null", "-p", "10ms", "--sensors", "loadavg", "--listen", "none", "--socket",
                     "none", "--sink", sink, NULL };
    pid_t pid = start(argv);
    sleep_ms(10000);
    stop(pid);
    FILE *file = fdopen(fd, "r");
    rewind(file);
    while (fgets(line, sizeof line, file) && count < SAMPLES_MAX)
        if (isdigit((unsigned char)line[0]))
            late_us[count++] = (double)(strtoull(line, NULL, 10) % 10000000) / 1000;
    fclose(file);
    unlink(path);
    qsort(late_us, count, sizeof *late_us, by_size);
    if (count)
        printf("   %u ticks of 10 ms: read %.0f us after their time (median), %.0f (99th of 100), %.0f (latest)\n", count,
               late_us[count / 2], late_us[count * 99 / 100], late_us[count - 1]);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench-agent SONDE BASELINE [ROUNDS]\n");
        return 2;
    }
    unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 5;
    compare(argv[1], argv[2], 1000, 5, rounds);
    compare(argv[1], argv[2], 10, 200, rounds);
    show_calls(argv[1]);
    show_memory(argv[1]);
    show_jitter(argv[1]);
    return 0;
}
