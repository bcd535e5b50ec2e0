/* Feeds a sink with batches that can be counted:
 * sink_feed SINK[:KEY=VALUE,…] BATCHES [JOB_EVERY [FLUSH_EVERY [TASKS [PAUSE_US]]]]. Batch n (its position in a journal that
 * there is not) has TASKS samples of taskstats, of the hosts node0, node1, … and of job 1 + n / JOB_EVERY, with
 * timeslices = n, and one of loadavg with runnable = n. It goes on behind what the sink says it has. */
#include "base/clock.h"
#include "base/parse.h"
#include "samplers/all.h"
#include "sinks/sink_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t number(int argc, char **argv, int i, uint64_t usual)
{
    uint64_t value = usual;
    if (i < argc && parse_u64(argv[i], &value))
        exit(2);
    return value;
}

static void die(const struct sink *sink, const void *state, const char *what, enum err err)
{
    fprintf(stderr, "sink_feed: %s: %s %s\n", what, err_text(err), sink && sink->message ? sink->message(state) : "");
    exit(1);
}

static void *apply(const struct sink *sink, char *settings)
{
    void *state = calloc(1, sink->state_size);
    setting_defaults(sink->settings, state);
    for (char *next, *key = settings; key; key = next) {
        next = strchr(key, ',');
        if (next)
            *next++ = '\0';
        char *value = strchr(key, '=');
        if (!value)
            exit(2);
        *value++ = '\0';
        enum err err = setting_apply(sink->settings, state, key, value);
        if (err)
            die(NULL, NULL, key, err);
    }
    return state;
}

static void fill(struct batch *batch, uint64_t n, uint64_t job_every, uint64_t tasks)
{
    static char host[32], job[32];
    static uint64_t begin_ns;
    if (!begin_ns)
        begin_ns = clock_realtime_ns();
    batch_reset(batch);
    snprintf(host, sizeof host, "node%llu", (unsigned long long)(n % 10));
    snprintf(job, sizeof job, "%llu", (unsigned long long)(1 + n / job_every));
    batch->host = host;
    batch->stream = 1;
    batch->sequence = batch->position = n;
    for (uint64_t i = 0; i < tasks; i++) {
        struct sample *sample = batch_add(batch, sampler_taskstats.set, begin_ns + n * NS_PER_MS, "");
        for (size_t k = 0; k < sample->set->size; k++)
            sample_set_u64(sample, k, n * (k + 1) + (k ? k * k * i : 0));
        sample->job = job;
    }
    struct sample *load = batch_add(batch, sampler_loadavg.set, begin_ns + n * NS_PER_MS, "");
    sample_set_u64(load, 3, n);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const struct sink *sink;
    char why[512] = "", *colon = strchr(argv[1], ':');
    uint64_t batches = number(argc, argv, 2, 0), job_every = number(argc, argv, 3, 1000);
    uint64_t flush_every = number(argc, argv, 4, 100);
    uint64_t tasks = number(argc, argv, 5, 1), pause_us = number(argc, argv, 6, 0), position = 0;
    struct batch batch;
    if (colon)
        *colon++ = '\0';
    enum err err = sink_module_load(argv[1], &sink, why, sizeof why);
    if (err)
        die(NULL, NULL, why, err);
    void *state = apply(sink, colon);
    batch_init(&batch);
    if ((err = sink->open(state)))
        die(sink, state, "open", err);
    if (sink->resume && (err = sink->resume(state, &position)))
        die(sink, state, "resume", err);
    uint64_t begin_ns = clock_monotonic_ns(), from = position;
    for (uint64_t n = position + 1; n <= batches; n++) {
        fill(&batch, n, job_every, tasks);
        if ((err = sink->write(state, &batch)))
            die(sink, state, "write", err);
        if (n % flush_every == 0 && (err = sink->flush(state, 0)))
            die(sink, state, "flush", err);
        if (pause_us)
            usleep((useconds_t)pause_us);
    }
    if ((err = sink->flush(state, 0)))
        die(sink, state, "flush", err);
    sink->close(state);
    double seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    printf("from %llu to %llu in %.3f s: %.0f samples/s\n", (unsigned long long)from, (unsigned long long)batches, seconds,
           (double)((batches - from) * tasks) / seconds);
    batch_clear(&batch);
    free(state);
    return 0;
}
