/* bench-rapl ROOT [ROUNDS]: the cost of 1,000 rapl readings per second on a captured node, paced as in the agent, compared with a bare
 * pread of the same files and with a loop that only sleeps. */
#include "base/clock.h"
#include "base/scan.h"
#include "samplers/all.h"
#include "proc/listing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RATE 1000
#define FILES_MAX 64

struct bare {
    int fds[FILES_MAX];
    size_t count;
    uint64_t sum;
};

struct sampled {
    void *state;
    struct batch batch;
    size_t values;
};

static void sleep_only(void *context)
{
    (void)context;
}

static void read_bare(void *context)
{
    struct bare *bare = context;
    for (size_t i = 0; i < bare->count; i++) {
        char text[64];
        const char *at = text;
        uint64_t value;
        ssize_t got = pread(bare->fds[i], text, sizeof text - 1, 0);
        text[got > 0 ? got : 0] = '\0';
        if (scan_u64(&at, &value))
            bare->sum += value;
    }
}

static void read_sampler(void *context)
{
    struct sampled *sampled = context;
    batch_reset(&sampled->batch);
    if (sampler_rapl.read(sampled->state, &sampled->batch))
        exit(1);
    sampled->values = 0;
    for (size_t i = 0; i < sampled->batch.count; i++)
        for (size_t j = 0; j < sampled->batch.samples[i].set->size; j++)
            sampled->values += sampled->batch.samples[i].known[j];
}

/* CPU time per call, measured for half a second at RATE calls per second. */
static double cost_us(void (*call)(void *context), void *context)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned i = 0; i < RATE / 2; i++) {
        at.tv_nsec += NS_PER_S / RATE;
        at.tv_sec += at.tv_nsec / (long)NS_PER_S;
        at.tv_nsec %= (long)NS_PER_S;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        call(context);
    }
    return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / (RATE / 2) / 1000;
}

static void open_bare(struct bare *bare, const char *root)
{
    struct listing zones = { 0 };
    char path[4096];
    listing_read(&zones, root, "/sys/class/powercap", "intel-rapl:");
    for (size_t i = 0; i < zones.count && bare->count < FILES_MAX; i++) {
        snprintf(path, sizeof path, "%s/sys/class/powercap/%s/energy_uj", root, zones.names[i]);
        bare->fds[bare->count] = open(path, O_RDONLY | O_CLOEXEC);
        bare->count += bare->fds[bare->count] >= 0;
    }
    listing_clear(&zones);
}

static void open_sampler(struct sampled *sampled, const struct sampler_context *context)
{
    sampled->state = calloc(1, sampler_rapl.state_size);
    batch_init(&sampled->batch);
    if (!sampled->state || setting_defaults(sampler_rapl.settings, sampled->state)
        || sampler_rapl.open(sampled->state, context)) {
        fprintf(stderr, "bench-rapl: no energy counter below %s\n", context->root);
        exit(1);
    }
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    struct sampler_context context = { .root = argc > 1 ? argv[1] : "" };
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 6;
    struct bare bare = { 0 };
    struct sampled sampled = { 0 };
    open_bare(&bare, context.root);
    open_sampler(&sampled, &context);
    double nothing_us = 1e9, bare_us = 1e9, sampler_us = 1e9;
    for (unsigned i = 0; i < rounds; i++) { /* alternately, the best of each: other load only adds */
        nothing_us = smaller(nothing_us, cost_us(sleep_only, NULL));
        bare_us = smaller(bare_us, cost_us(read_bare, &bare));
        sampler_us = smaller(sampler_us, cost_us(read_sampler, &sampled));
    }
    printf("%-24s %8.2f us per wake-up  %6.3f %% of a core\n", "sleep only", nothing_us, nothing_us / 10);
    printf("%-24s %8.2f us per reading  %6.3f %% of a core, wake-ups included (%zu files)\n", "bare pread", bare_us,
           bare_us / 10, bare.count);
    printf("%-24s %8.2f us per reading  %6.3f %% of a core, wake-ups included (%zu values)\n", "rapl", sampler_us,
           sampler_us / 10, sampled.values);
    printf("%-24s %8.2f us per reading  %6.3f %% of a core without them; goal: under 0.5 %%\n", "rapl itself",
           sampler_us - nothing_us, (sampler_us - nothing_us) / 10);
    sampler_rapl.close(sampled.state);
    free(sampled.state);
    batch_clear(&sampled.batch);
    return 0;
}
