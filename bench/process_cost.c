/* process_cost [SONDE [ROUNDS [COUNT]]]: the overhead of a short process, and where it comes from. A loop starts /bin/true COUNT times
 * and measures each: bare; with an empty preloaded library, the minimum for any probe; with a plain probe, which records only exits;
 * with the probe and a spool; and, if the executable SONDE is given, in sonde run with and without the probe. The variants alternate,
 * ROUNDS times, in changing order. A process is shorter than most disturbances, so the tenth percentile is that of undisturbed ones.
 * The CPU time is that of everything that was started, minus that of a loop without processes; page faults are those of the process. */
#include "tools.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 1000
#define WORDS_MAX 6 /* with the final NULL */

/* Measurements of one process. */
struct sampler_state {
    float wall_us, faults;
};

struct way {
    const char *name, *library;
    bool has_spool, is_left_out;
    const char *before[WORDS_MAX]; /* the command that runs the loop */
    struct sampler_state *lives;
    size_t count;
    double cpu_us[ROUNDS_MAX]; /* per process */
};

/* Receives the datagrams of the plain probe. */
static struct {
    struct sockaddr_un name;
    pid_t pid;
} listener = { .name.sun_family = AF_UNIX };

static void listener_start(void)
{
    char text[8192];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = 1 << 20;
    int written = snprintf(listener.name.sun_path, sizeof listener.name.sun_path, "%s.plain", tools_spool_path());
    if (fd < 0 || written >= (int)sizeof listener.name.sun_path
        || bind(fd, (const struct sockaddr *)&listener.name, sizeof listener.name) != 0
        || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) != 0)
        tools_die("cannot create the plain probe's socket: is TMPDIR too long?");
    listener.pid = fork();
    if (listener.pid == 0)
        for (;;)
            if (recv(fd, text, sizeof text, 0) < 0)
                _exit(1);
    close(fd);
}

static void listener_stop(void)
{
    kill(listener.pid, SIGKILL);
    waitpid(listener.pid, NULL, 0);
    unlink(listener.name.sun_path);
}

static void become_true(void)
{
    execl("/bin/true", "true", (char *)NULL);
    _exit(127);
}

/* The loop, which runs as a separate program: writes its measurements to stdout. */
static int loop(int count)
{
    for (int i = 0; i < count; i++) {
        int status = 0;
        struct rusage usage;
        uint64_t start_ns = tools_now_ns();
        pid_t pid = fork();
        if (pid == 0)
            become_true();
        if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
            return 1;
        struct sampler_state life = { (float)(tools_now_ns() - start_ns) / 1e3f, (float)usage.ru_minflt };
        if (write(STDOUT_FILENO, &life, sizeof life) != sizeof life)
            return 1;
    }
    return 0;
}

static void become_loop(const struct way *way, int count, int fd)
{
    char number[16], self[4096] = "";
    const char *words[WORDS_MAX + 4] = { 0 };
    int at = 0;
    snprintf(number, sizeof number, "%d", count);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        _exit(127);
    for (; way->before[at]; at++)
        words[at] = way->before[at];
    words[at++] = self;
    words[at++] = "--loop";
    words[at] = number;
    dup2(fd, STDOUT_FILENO);
    if (way->library)
        setenv("LD_PRELOAD", way->library, 1);
    setenv("BENCH_PLAIN_SOCKET", listener.name.sun_path, 1);
    if (way->has_spool)
        setenv("SONDE_SPOOL", tools_spool_path(), 1);
    execv(words[0], (char **)(uintptr_t)words);
    _exit(127);
}

static void take_lives(struct way *way, int fd)
{
    struct sampler_state life;
    FILE *file = fdopen(fd, "r");
    while (file && fread(&life, sizeof life, 1, file) == 1)
        way->lives[way->count++] = life;
    if (file)
        fclose(file);
}

static double timeval_us(struct timeval t)
{
    return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

/* The CPU time. */
static double run_us(struct way *way, int count)
{
    int ends[2], status = 0;
    struct rusage usage;
    if (pipe(ends) != 0)
        tools_die("cannot create a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become_loop(way, count, ends[1]);
    }
    close(ends[1]);
    take_lives(way, ends[0]);
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
        tools_die("cannot run the program to measure");
    return timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime);
}

static int by_wall(const void *a, const void *b)
{
    float x = ((const struct sampler_state *)a)->wall_us, y = ((const struct sampler_state *)b)->wall_us;
    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double faults_of(const struct way *way)
{
    double sum = 0;
    for (size_t i = 0; i < way->count; i++)
        sum += (double)way->lives[i].faults;
    return sum / (double)way->count;
}

static void print(struct way *way, struct way *bare, int rounds)
{
    double more_us[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++)
        more_us[i] = way->cpu_us[i] - bare->cpu_us[i];
    qsort(more_us, (size_t)rounds, sizeof *more_us, by_size);
    qsort(way->lives, way->count, sizeof *way->lives, by_wall);
    double tenth = (double)way->lives[way->count / 10].wall_us, median = (double)way->lives[way->count / 2].wall_us;
    printf("   %-18s %8.1f %+8.1f %8.1f %+8.1f %+12.1f %8.1f\n", way->name, tenth,
           tenth - (double)bare->lives[bare->count / 10].wall_us, median,
           median - (double)bare->lives[bare->count / 2].wall_us, more_us[rounds / 2], faults_of(way));
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--loop") == 0)
        return loop(atoi(argv[2]));
    const char *sonde = argc > 1 ? argv[1] : NULL;
    int rounds = argc > 2 ? atoi(argv[2]) : 20, count = argc > 3 ? atoi(argv[3]) : 100;
    struct way ways[] = {
        { .name = "bare" },
        { .name = "an empty library", .library = BENCH_EMPTY },
        { .name = "a plain probe", .library = BENCH_PLAIN },
        { .name = "the probe alone", .library = BENCH_PROBE, .has_spool = true },
        { .name = "sonde run", .is_left_out = !sonde, .before = { sonde, "run", "-q", "--" } },
        { .name = "without probe", .is_left_out = !sonde, .before = { sonde, "run", "-q", "--no-probe", "--" } },
    };
    enum { WAYS = sizeof ways / sizeof *ways };
    if (rounds < 1 || rounds > ROUNDS_MAX || count < 1)
        tools_die("usage: process_cost [SONDE [ROUNDS [COUNT]]]");
    tools_spool_make(BENCH_PROBE);
    listener_start();
    for (int i = 0; i < WAYS; i++)
        ways[i].lives = calloc((size_t)rounds * (size_t)count, sizeof *ways[i].lives);
    for (int i = 0; i < rounds * WAYS; i++) {
        struct way *way = &ways[(i + i / WAYS) % WAYS];
        if (!way->is_left_out)
            way->cpu_us[i / WAYS] = (run_us(way, count) - run_us(way, 0)) / count;
    }
    printf("   us per process        10 %%     more   median     more     more CPU   faults\n");
    for (int i = 0; i < WAYS; i++)
        if (!ways[i].is_left_out)
            print(&ways[i], &ways[0], rounds);
    listener_stop();
    tools_spool_remove();
    return 0;
}
