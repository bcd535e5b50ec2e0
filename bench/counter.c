/* The cost of libsonde: an addition by 1, 2, 4 and 8 threads on the same counter, compared with a plain and an atomic addition in the
 * same run; creating metrics, the first count of a thread, and reading the segment. Times are CPU times of the threads, the best of
 * several rounds: waiting for a core is not included. */
#include "appmetrics/segment_reader.h"
#include "tools.h"

#include <sonde.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ADDS 1000000
#define ROUNDS 15
#define THREADS_MAX 8
#define METRICS 100000

static struct sonde_counter counter;
static struct sonde_real_counter real;
static struct sonde_gauge gauge;
static struct sonde_histogram histogram;
static uint64_t shared;
static pthread_barrier_t barrier;

static void plain(void)
{
    volatile uint64_t own = 0;
    for (int i = 0; i < ADDS; i++)
        own = own + 1;
}

static void atomic(void)
{
    for (int i = 0; i < ADDS; i++)
        __atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED);
}

static void add(void)
{
    for (int i = 0; i < ADDS; i++)
        sonde_add(&counter, 1);
}

static void add_called(void)
{
    for (int i = 0; i < ADDS; i++)
        sonde_call_add(&counter, 1);
}

static void add_real(void)
{
    for (int i = 0; i < ADDS; i++)
        sonde_add_real(&real, 1);
}

static void set(void)
{
    for (int i = 0; i < ADDS; i++)
        sonde_set(&gauge, i);
}

static void observe(void)
{
    for (int i = 0; i < ADDS; i++)
        sonde_observe(&histogram, i & 15);
}

static uint64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct work {
    void (*act)(void);
    double ns;
};

static void *run(void *argument)
{
    struct work *work = argument;
    work->act(); /* warm */
    pthread_barrier_wait(&barrier);
    uint64_t begin_ns = thread_ns();
    work->act();
    work->ns = (double)(thread_ns() - begin_ns) / ADDS;
    return NULL;
}

/* ns per addition, averaged over the threads of the best round. */
static double measure(void (*act)(void), int threads)
{
    double best_ns = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t ids[THREADS_MAX];
        struct work works[THREADS_MAX];
        double sum_ns = 0;
        pthread_barrier_init(&barrier, NULL, (unsigned)threads);
        for (int i = 0; i < threads; i++) {
            works[i] = (struct work){ .act = act };
            if (pthread_create(&ids[i], NULL, run, &works[i]))
                tools_die("cannot create a thread");
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(ids[i], NULL);
            sum_ns += works[i].ns;
        }
        pthread_barrier_destroy(&barrier);
        best_ns = tools_smaller(best_ns, sum_ns / threads);
    }
    return best_ns;
}

static void print_additions(void)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } ways[] = {
        { "plain add, own memory", plain }, { "atomic add, shared", atomic },       { "sonde_add", add },
        { "sonde_call_add", add_called },   { "sonde_add_real", add_real },         { "sonde_set", set },
        { "sonde_observe", observe },
    };
    printf("   ns each, by thread count      %8d %8d %8d %8d\n", 1, 2, 4, 8);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        printf("   %-29s", ways[i].name);
        for (int threads = 1; threads <= THREADS_MAX; threads *= 2)
            printf(" %8.2f", measure(ways[i].act, threads));
        putchar('\n');
    }
}

static void *begin(void *argument)
{
    uint64_t begin_ns = thread_ns();
    sonde_add(&counter, 1);
    *(double *)argument = (double)(thread_ns() - begin_ns);
    return NULL;
}

static void print_thread(void)
{
    double best_ns = 1e9, ns = 0;
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, begin, &ns))
            tools_die("cannot create a thread");
        pthread_join(thread, NULL);
        best_ns = tools_smaller(best_ns, ns);
    }
    printf("   the first count of a thread   %8.0f ns\n", best_ns);
}

static void create_many(const char *what)
{
    uint64_t begin_ns = thread_ns();
    for (int i = 0; i < METRICS; i++) {
        char number[16];
        const char *labels[] = { "number", number, NULL };
        struct sonde_counter one;
        snprintf(number, sizeof number, "%d", i);
        if (sonde_counter_make(&one, "bench_total", labels, "", "One of many"))
            tools_die("the segment is full");
        sonde_add(&one, 1);
    }
    printf("   %-29s %8.0f ns each, %d of them\n", what, (double)(thread_ns() - begin_ns) / METRICS, METRICS);
}

static struct segment_reader *open_board(const char *folder)
{
    DIR *dir = opendir(folder);
    struct segment_reader *reader = NULL;
    for (const struct dirent *entry; dir && !reader && (entry = readdir(dir));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) == 0 && segment_reader_open(&reader, path))
            tools_die("cannot read the segment");
    }
    if (dir)
        closedir(dir);
    return reader;
}

static void print_reading(void)
{
    const char *folder = getenv(SEGMENT_ENV_DIR);
    struct segment_reader *reader = folder ? open_board(folder) : NULL;
    if (!reader)
        return;
    uint64_t begin_ns = thread_ns(), first_ns;
    segment_reader_read(reader);
    first_ns = thread_ns() - begin_ns;
    double best_ns = 1e12;
    for (int i = 0; i < 20; i++) {
        begin_ns = thread_ns();
        segment_reader_read(reader);
        best_ns = tools_smaller(best_ns, (double)(thread_ns() - begin_ns));
    }
    printf("   to read %zu metrics       %8.2f ms the first time, then %.2f ms; %llu KiB of memory\n", segment_reader_count(reader),
           (double)first_ns / 1e6, best_ns / 1e6, (unsigned long long)segment_reader_info(reader)->bytes / 1024);
    segment_reader_close(&reader);
}

int main(void)
{
    static const double bounds[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    uint64_t begin_ns = thread_ns();
    sonde_counter_make(&counter, "bench_one_total", NULL, "", "");
    sonde_add(&counter, 1);
    printf("   the first metric              %8.0f ns, with its segment\n", (double)(thread_ns() - begin_ns));
    sonde_real_counter_make(&real, "bench_real_total", NULL, "", "");
    sonde_gauge_make(&gauge, "bench_gauge", NULL, "", "");
    sonde_histogram_make(&histogram, "bench_sizes", NULL, "", "", bounds, 8);
    print_additions();
    print_thread();
    create_many("to create a metric");
    create_many("to find it again");
    print_reading();
    return 0;
}
