/* thread_cost [PROBE [COUNT [REPEATS]]]: what the preloaded probe adds to a thread. COUNT threads that do nothing are made
 * and joined one after the other, bare and with the probe by turns, REPEATS times each; the fastest round of each counts. All
 * on one processor: whether a thread and who waits for it share one or not is worth more than the probe, and chance. What it is
 * on any processor, bench/run tells from the middle of many rounds.
 * Then the memory of 1,000 threads alive at once. Also the part of the program that is measured: thread_cost join|live. */
#include "tools.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE 1000

static void *do_nothing(void *value)
{
    return value;
}

static void *wait_here(void *barrier)
{
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

/* Prints ns per thread. */
static int join_threads(int count)
{
    uint64_t start_ns = tools_now_ns();
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    }
    printf("%f\n", (double)(tools_now_ns() - start_ns) / count);
    return 0;
}

static double private_bytes(void)
{
    char text[4096] = "";
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return 0;
    close(fd);
    const char *at = strstr(text, "Private_Dirty:");
    return at ? strtod(at + strlen("Private_Dirty:"), NULL) * 1024 : 0;
}

/* Prints bytes per thread. */
static int live_threads(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    double before = private_bytes();
    pthread_barrier_init(&barrier, NULL, LIVE + 1);
    for (int i = 0; i < LIVE; i++)
        if (pthread_create(&thread, NULL, wait_here, &barrier) != 0)
            return 1;
    pthread_barrier_wait(&barrier);
    printf("%f\n", (private_bytes() - before) / LIVE);
    fflush(stdout);
    _exit(0); /* with all of them alive */
}

static void stay_here(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
}

/* As a user's sonde run gives it, for the records of threads. */
static void make_boards(char *folder)
{
    if (!mkdtemp(folder))
        return;
    setenv("SONDE_PROBE", "p", 1);
    setenv("SONDE_BOARDS", folder, 1);
}

static double least(char **argv, bool probe, double so_far)
{
    return tools_smaller(so_far, tools_run_number(argv, probe));
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "join") == 0)
        return join_threads(atoi(argv[2]));
    if (argc > 1 && strcmp(argv[1], "live") == 0)
        return live_threads();
    char *count = argc > 2 ? argv[2] : "500";
    int repeats = argc > 3 ? atoi(argv[3]) : 40;
    double bare[2] = { 1e12, 1e12 }, with[2] = { 1e12, 1e12 };
    char boards[] = "/dev/shm/sonde-bench-XXXXXX";
    make_boards(boards);
    stay_here();
    tools_spool_make(argc > 1 ? argv[1] : BENCH_PROBE);
    for (int i = 0; i < repeats; i++) {
        char *join[] = { "/proc/self/exe", "join", count, NULL }, *live[] = { "/proc/self/exe", "live", NULL };
        bare[0] = least(join, false, bare[0]);
        with[0] = least(join, true, with[0]);
        bare[1] = least(live, false, bare[1]);
        with[1] = least(live, true, with[1]);
    }
    printf("a thread: bare %.2f us, with the probe %.2f us: %+.2f us, %.2f times (goal: +10 us)\n", bare[0] / 1e3,
           with[0] / 1e3, (with[0] - bare[0]) / 1e3, with[0] / bare[0]);
    printf("a live thread: bare %.0f bytes, with the probe %.0f bytes: %+.0f bytes (goal: +1024)\n", bare[1], with[1],
           with[1] - bare[1]);
    tools_spool_remove();
    rmdir(boards);
    return 0;
}
