/* thread_cost [SONDE [ROUNDS]]: the overhead of a thread. Creates and joins THREADS idle threads one after another: bare, with the
 * probe only, and, if the executable SONDE is given, in sonde run with and without the probe; as root also as a user, who gets fewer
 * kernel events. Each in three placements: everything on one processor; threads on another processor than their creator, which costs
 * two wake-ups of a processor on a virtual machine; and as the kernel schedules them, which varies, so that these differences are the
 * least precise. The variants alternate, ROUNDS times; prints the median over the rounds of the time and of the difference to bare
 * in the same round, with the standard error of the mean. Then the memory of 1,000 concurrent threads. It is also the measured
 * program: thread_cost join PLACE | live. */
#include "tools.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE 1000
#define THREADS 2000
#define ROUNDS_MAX 1000
#define WORDS_MAX 10 /* with the final NULL */
#define AS_USER "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"

enum place { PLACE_ONE, PLACE_TWO, PLACE_ANY, PLACES };
static const char *const place_names[PLACES] = { "one", "two", "any" };

struct way {
    const char *name;
    bool has_probe, needs_sonde, needs_root;
    int base;                      /* the variant that it is compared with */
    const char *before[WORDS_MAX]; /* "sonde" is replaced by its path */
    double us[ROUNDS_MAX];
};

static struct way ways[] = {
    { .name = "bare" },
    { .name = "the probe alone", .has_probe = true },
    { .name = "sonde run", .needs_sonde = true, .before = { "sonde", "run", "-q", "--" } },
    { .name = "without the probe", .needs_sonde = true, .before = { "sonde", "run", "-q", "--no-probe", "--" } },
    { .name = "bare, as a user", .needs_sonde = true, .needs_root = true, .base = 4, .before = { AS_USER } },
    { .name = "sonde run, as a user", .needs_sonde = true, .needs_root = true, .base = 4,
      .before = { AS_USER, "sonde", "run", "-q", "--" } },
};
#define WAYS (sizeof ways / sizeof *ways)

/* --- the measured program --- */

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

/* number: index into the allowed processors; the last one if there are fewer. */
static cpu_set_t processor(int number)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0, left = number; cpu < CPU_SETSIZE && left >= 0; cpu++)
        if (CPU_ISSET(cpu, &all)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            left--;
        }
    return one;
}

/* Prints us per thread. */
static int join_threads(const char *place)
{
    pthread_attr_t attributes;
    cpu_set_t here = processor(0), there = processor(strcmp(place, "two") == 0);
    pthread_attr_init(&attributes);
    if (strcmp(place, "any") != 0) {
        pthread_attr_setaffinity_np(&attributes, sizeof there, &there);
        sched_setaffinity(0, sizeof here, &here);
    }
    uint64_t start_ns = tools_now_ns();
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    }
    printf("%f\n", (double)(tools_now_ns() - start_ns) / 1e3 / THREADS);
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
    _exit(0); /* while all threads are running */
}

/* --- the measuring program --- */

static const char *sonde; /* NULL: not given */
static char self[4096];

static bool is_wanted(const struct way *way)
{
    if (!way->needs_root)
        return sonde || !way->needs_sonde;
    char *reaches[] = { AS_USER, "/usr/bin/test", "-x", (char *)sonde, NULL };
    return sonde && geteuid() == 0 && access(reaches[0], X_OK) == 0 && tools_succeeds(reaches);
}

/* As in a user's sonde run, for thread records. */
static void offer_pages(const char *folder, bool offers)
{
    if (offers) {
        setenv("SONDE_PROBE", "p", 1);
        setenv("SONDE_BOARDS", folder, 1);
    } else {
        unsetenv("SONDE_PROBE");
        unsetenv("SONDE_BOARDS");
    }
}

/* Below $TMPDIR, which all users must be able to write to. */
static void choose_store(bool is_users)
{
    char path[4096];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/threads%s.db", base && *base ? base : "/tmp", is_users ? "-user" : "");
    setenv("SONDE_DB", path, 1);
}

static double run_way(const struct way *way, const char *folder, const char *place)
{
    char *argv[WORDS_MAX + 4], **at = argv;
    for (const char *const *word = way->before; *word; word++)
        *at++ = (char *)(strcmp(*word, "sonde") == 0 ? sonde : *word);
    *at++ = self;
    *at++ = "join";
    *at++ = (char *)place;
    *at = NULL;
    choose_store(way->needs_root);
    offer_pages(folder, way->has_probe);
    double us = tools_run_number(argv, way->has_probe);
    offer_pages(folder, false);
    return us;
}

static int by_number(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double median(const double *all, int count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, all, (size_t)count * sizeof *all);
    qsort(sorted, (size_t)count, sizeof *sorted, by_number);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void print_way(const struct way *way, int rounds)
{
    double more[ROUNDS_MAX], sum = 0, squares = 0;
    for (int i = 0; i < rounds; i++) {
        more[i] = way->us[i] - ways[way->base].us[i];
        sum += more[i];
        squares += more[i] * more[i];
    }
    double mean = sum / rounds, error = sqrt(fmax(0, squares / rounds - mean * mean) / rounds);
    printf("   %-22s %7.2f us", way->name, median(way->us, rounds));
    if (way != &ways[way->base])
        printf("  %+6.2f (mean %+.2f +-%.2f)", median(more, rounds), mean, error);
    printf("\n");
}

static void measure(enum place place, int rounds, const char *folder, const bool *wanted)
{
    static const char *const titles[PLACES] = { "everything on one processor", "the threads on another processor",
                                                "wherever the kernel puts them" };
    for (int round = 0; round < rounds; round++)
        for (size_t w = 0; w < WAYS; w++) {
            size_t at = (w + (size_t)round) % WAYS;
            if (wanted[at])
                ways[at].us[round] = run_way(&ways[at], folder, place_names[place]);
        }
    printf("   -- %s\n", titles[place]);
    for (size_t w = 0; w < WAYS; w++)
        if (wanted[w])
            print_way(&ways[w], rounds);
}

static void measure_memory(void)
{
    char *live[] = { self, "live", NULL };
    double bare = tools_run_number(live, false), with = tools_run_number(live, true);
    printf("   a live thread: bare %.0f bytes, with the probe %.0f bytes: %+.0f (goal: +1024)\n", bare, with, with - bare);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "join") == 0)
        return join_threads(argv[2]);
    if (argc > 1 && strcmp(argv[1], "live") == 0)
        return live_threads();
    char folder[] = "/dev/shm/sonde-bench-XXXXXX";
    bool wanted[WAYS];
    int rounds = argc > 2 ? atoi(argv[2]) : 30;
    sonde = argc > 1 ? argv[1] : NULL;
    if (rounds < 1 || rounds > ROUNDS_MAX || readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !mkdtemp(folder))
        return 2;
    for (size_t w = 0; w < WAYS; w++)
        wanted[w] = is_wanted(&ways[w]);
    tools_spool_make(BENCH_PROBE);
    for (enum place place = 0; place < PLACES; place++)
        measure(place, rounds, folder, wanted);
    measure_memory();
    tools_spool_remove();
    rmdir(folder);
    return 0;
}
