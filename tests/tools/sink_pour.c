/* Feeds a sink with batches that never were, as a collector would: sink_pour SINK[:KEY=VALUE,...] FROM TO [HOST...]
 * Batch n is of the n-th second behind the base, which is $SINK_POUR_BASE (seconds; else a fixed one), and holds
 *   feed   batches = n, level = n + 0.5, change = -n, of job 4711 of ada     (FROM > TO: from late to early)
 *   disk   sectors = 7 n, of the instances sda and sdb
 * It goes on until all is durable, then says how often it had to try, and what was refused. */
#include "base/clock.h"
#include "base/parse.h"
#include "sinks/sink_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FLUSH_EVERY 25
#define PATIENCE_NS (120 * NS_PER_S)

static const struct metric feed_metrics[] = {
    { "batches", "1", COUNTER, U64, "so far" }, { "level", "ms", GAUGE, F64, "a level" },
    { "change", "1", GAUGE, I64, "a change" },
};
static const struct metric disk_metrics[] = {
    { "sectors", "KB", COUNTER, U64, "read" }, { "never", "1", GAUGE, U64, "unknown" },
};
static const struct set feed = { "feed", feed_metrics, 3 }, disk = { "disk", disk_metrics, 2, "device" };
static const struct job job = {
    .id = "4711", .other_id = "", .source = "told", .user = "ada", .start_ns = NS_PER_S, .cgroup = "",
};

struct feeder {
    struct sink_choice choice;
    void *state;
    uint64_t base_ns, tries, last_position;
};

static void fill(struct batch *batch, uint64_t time_ns, uint64_t n)
{
    struct sample *sample = batch_add(batch, &feed, time_ns, "");
    sample->job = job.id;
    sample_set_u64(sample, 0, n);
    sample_set_f64(sample, 1, (double)n + 0.5);
    sample_set_u64(sample, 2, (uint64_t)-n);
    sample_set_u64(batch_add(batch, &disk, time_ns, "sda"), 0, 7 * n);
    sample_set_u64(batch_add(batch, &disk, time_ns, "sdb"), 0, 7 * n);
}

/* Calls until it goes. */
static void insist(struct feeder *feeder, const struct batch *batch)
{
    const struct sink *sink = feeder->choice.sink;
    uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;
    enum err err;
    while ((err = batch ? sink->write(feeder->state, batch) : sink->flush(feeder->state, clock_monotonic_ns() + 10 * NS_PER_S))) {
        feeder->tries++;
        if (clock_monotonic_ns() > end_ns) {
            fprintf(stderr, "gave up: %s\n", sink_choice_message(&feeder->choice, feeder->state, err));
            exit(1);
        }
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
}

static void feed_one(struct feeder *feeder, struct batch *batch, const char *host, uint64_t n)
{
    const struct job *jobs[] = { &job };
    batch_reset(batch);
    batch->host = host;
    batch->stream = 77;
    batch->sequence = n + 1;
    batch->position = ++feeder->last_position;
    batch->jobs = jobs;
    batch->job_count = 1;
    fill(batch, feeder->base_ns + n * NS_PER_S, n);
    insist(feeder, batch);
}

static void feed_all(struct feeder *feeder, uint64_t from, uint64_t to, char **hosts)
{
    struct batch batch;
    batch_init(&batch);
    for (uint64_t n = from, left = from < to ? to - from : from - to; left; left--, n += from < to ? 1 : UINT64_MAX) {
        for (char **host = hosts; *host; host++)
            feed_one(feeder, &batch, *host, n);
        if (left % FLUSH_EVERY == 0)
            insist(feeder, NULL);
    }
    insist(feeder, NULL);
    batch_clear(&batch);
}

int main(int argc, char **argv)
{
    static char *some[] = { "n1", NULL };
    struct feeder feeder = { 0 };
    struct buf why;
    uint64_t from, to, base_s = 1700000000;
    buf_init(&why, 4096);
    if (argc < 4 || parse_u64(argv[2], &from) || parse_u64(argv[3], &to)
        || (getenv("SINK_POUR_BASE") && parse_u64(getenv("SINK_POUR_BASE"), &base_s)))
        return 2;
    feeder.base_ns = base_s * NS_PER_S;
    if (sink_choice_parse(&feeder.choice, argv[1], &why) || sink_choice_open(&feeder.choice, &feeder.state, &why)) {
        fprintf(stderr, "%s\n", buf_text(&why));
        return 1;
    }
    feed_all(&feeder, from, to, argc > 4 ? argv + 4 : some);
    const struct sink *sink = feeder.choice.sink;
    printf("tries %llu refused %llu %s\n", (unsigned long long)feeder.tries,
           (unsigned long long)(sink->refused ? sink->refused(feeder.state) : 0),
           sink->message ? sink->message(feeder.state) : "");
    sink_choice_close(&feeder.choice, &feeder.state);
    sink_choice_clear(&feeder.choice);
    buf_clear(&why);
    return 0;
}
