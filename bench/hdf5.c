/* bench-hdf5 DIRECTORY: rows of Colmet's taskstats per second written to HDF5, uncompressed and with zlib 9: 100 jobs on 10 hosts, one
 * batch per host and tick, flushed every 100 batches as a collector does. Per second of wall time and of CPU time, which depends
 * less on other load. Goals: 250,000 and 30,000 (Colmet: 12,000 and 1,400). */
#include "base/clock.h"
#include "samplers/all.h"
#include "sinks/sink_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define JOBS 100

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void fill(struct batch *batch, uint64_t n, const char *host, char (*jobs)[16])
{
    batch_reset(batch);
    batch->host = host;
    batch->stream = 1;
    batch->sequence = batch->position = n;
    for (uint64_t i = 0; i < JOBS; i++) {
        struct sample *sample = batch_add(batch, sampler_taskstats.set, (1794767178 + n / 10) * NS_PER_S, "");
        for (size_t k = 0; k < sample->set->size; k++)
            sample_set_u64(sample, k, n * (k + 1) * 1009 + k * k * i * 77);
        sample->job = jobs[i];
    }
}

static int measure(const struct sink *sink, const char *folder, const char *level, uint64_t batches)
{
    static const char *const hosts[] = { "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9" };
    char path[4096], jobs[JOBS][16];
    struct batch batch;
    void *state = calloc(1, sink->state_size);
    batch_init(&batch);
    snprintf(path, sizeof path, "%s/bench-%s.hdf5", folder, level);
    for (int i = 0; i < JOBS; i++)
        snprintf(jobs[i], sizeof jobs[i], "%d", 4711 + i);
    setting_defaults(sink->settings, state);
    setting_apply(sink->settings, state, "path", path);
    setting_apply(sink->settings, state, "level", level);
    enum err err = sink->open(state);
    double begin_cpu_s = cpu_s();
    uint64_t begin_ns = clock_monotonic_ns();
    for (uint64_t n = 1; n <= batches && !err; n++) {
        fill(&batch, n, hosts[n % 10], jobs);
        err = sink->write(state, &batch);
        if (!err && n % 100 == 0)
            err = sink->flush(state, 0);
    }
    if (!err)
        sink->close(state); /* makes everything durable */
    double wall_s = (double)(clock_monotonic_ns() - begin_ns) / 1e9, used_s = cpu_s() - begin_cpu_s;
    double rows = (double)batches * JOBS;
    printf("level %s: %8.0f rows/s, %8.0f rows per second of CPU; %.0f rows\n", level, rows / wall_s, rows / used_s, rows);
    unlink(path);
    batch_clear(&batch);
    free(state);
    return err ? 1 : 0;
}

int main(int argc, char **argv)
{
    const struct sink *sink;
    char why[512];
    if (argc < 2)
        return 2;
    if (sink_module_load("hdf5", &sink, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    return measure(sink, argv[1], "0", 10000) || measure(sink, argv[1], "9", 2000);
}
