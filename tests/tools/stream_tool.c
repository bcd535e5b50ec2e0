/* stream_tool make FILE: writes a stream with everything that can be in one, each record preceded by its size in two bytes.
 * stream_tool state FILE: the same, but a snapshot and the records after it.
 * stream_tool packed FILE: the same, with compressed sets as if many streams used them.
 * stream_tool dump FILE: prints what our decoder makes of a file of "make", for comparison with tests/journal/read.py. */
#include "journal/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICKS 48
#define METRICS 30

static struct metric metrics[METRICS];
static char names[METRICS][16];
static struct set large = { "large", metrics, METRICS, "zone" };
static const struct set small = { "small", metrics, 3, NULL };
static struct job job = { .id = "4711", .other_id = "s1", .source = "slurm", .user = "ada", .uid = 7, .cgroup = "" };
static const struct job *const jobs[] = { &job };
static const struct batch_gap gap = { 1, 2, 3, "spool full" };

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void make_metrics(void)
{
    for (int i = 0; i < METRICS; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        metrics[i] = (struct metric){ names[i], "B", i % 3 ? COUNTER : GAUGE, i % 10 == 9 ? F64 : i % 7 ? U64 : I64, "h",
                                      i % 5 ? NULL : "Src" };
    }
}

/* Some stay unchanged, some change by pages, some like others, some come and go, some decrease. */
static void add(struct batch *batch, const struct set *set, uint64_t tick, const char *instance, const char *job_id)
{
    uint64_t moves = (tick * 2654435761u >> 7) % 5000;
    uint64_t values[] = { tick / 9, 4096 * moves, moves, tick * tick, tick * 10000, 1000 * moves, -moves, moves * 4096 };
    double reals[] = { (double)tick / 3, (double)(tick * 7) / 100, tick % 6 ? 0.000125 * (double)tick : 1e300 };
    struct sample *sample = batch_add(batch, set, 1794796508000319262ull + tick * 1000000000 + tick * tick * 977, instance);
    sample->job = job_id;
    for (size_t i = 0; i < set->size; i++)
        if (i % 10 == 9)
            sample_set_f64(sample, i, reals[i / 10]);
        else if (i % 11 != 10 || tick % 4)
            sample_set_u64(sample, i, values[i % 8]);
}

static void make_batch(struct batch *batch, struct batch_event *event, uint64_t tick)
{
    batch_reset(batch);
    add(batch, &large, tick, "", NULL);
    if (tick % 3)
        add(batch, &small, tick * 2, "b", NULL);
    if (tick > 4 && tick <= 36)
        add(batch, &small, tick, "", "4711");
    if (tick % 7 == 0)
        add(batch, &large, tick + 1, "", NULL);
    if (tick == 5 || tick == 9 || tick == 36) {
        *event = (struct batch_event){ tick == 5 ? JOB_BEGIN : tick == 9 ? JOB_CHANGE : JOB_END, &job };
        job.user = tick == 5 ? "ada" : "grace";
        batch->jobs = jobs;
        batch->job_count = batch->event_count = 1;
        batch->events = event;
    }
    batch->gaps = &gap;
    batch->gap_count = tick % 8 == 0;
    if (tick == 40)
        large.size = 20; /* replaced by a smaller one */
}

static void put(FILE *file, const struct buf *bytes)
{
    uint8_t size[] = { (uint8_t)bytes->size, (uint8_t)(bytes->size >> 8) };
    if (fwrite(size, 1, 2, file) != 2 || fwrite(bytes->data, 1, bytes->size, file) != bytes->size)
        die("write");
}

/* As it is, or with compressed sets, which requires many streams that use them. */
static void snapshot(const struct delta_stream *stream, struct buf *bytes, bool packed)
{
    struct delta_stream *others[16] = { NULL };
    stream_snapshot(stream, bytes);
    for (size_t i = 0; packed && i < sizeof others / sizeof *others; i++)
        if (stream_new(&others[i]) || stream_restore(others[i], (struct bytes){ bytes->data, bytes->size }))
            die("stream_restore");
    buf_reset(bytes);
    stream_snapshot(stream, bytes);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        stream_free(&others[i]);
}

static void make(const char *path, bool with_state, bool packed)
{
    FILE *file = fopen(path, "w");
    struct delta_stream *stream;
    struct batch batch;
    struct batch_event event;
    struct buf bytes;
    if (!file || stream_new(&stream))
        die(path);
    make_metrics();
    batch_init(&batch);
    buf_init(&bytes, UINT16_MAX);
    for (uint64_t tick = 1; tick <= TICKS; tick++) {
        if (with_state && tick == TICKS / 2) {
            buf_reset(&bytes);
            snapshot(stream, &bytes, packed);
            put(file, &bytes);
        }
        buf_reset(&bytes);
        make_batch(&batch, &event, tick);
        if (stream_encode(stream, &batch, &bytes))
            die("stream_encode");
        if (!with_state || tick >= TICKS / 2)
            put(file, &bytes);
    }
    batch_clear(&batch);
    buf_clear(&bytes);
    stream_free(&stream);
    fclose(file);
}

static void print_batch(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        printf("sample %s|%s|%s|%llu", sample->set->name, sample->instance, sample->job ? sample->job : "-",
               (unsigned long long)sample->time_ns);
        for (size_t k = 0; k < sample->set->size; k++)
            if (sample->known[k])
                printf(" %s=%llx", sample->set->metrics[k].name, (unsigned long long)sample->values[k].u64);
        printf("\n");
    }
    for (size_t i = 0; i < batch->job_count; i++)
        printf("job %s|%s|%u\n", batch->jobs[i]->id, batch->jobs[i]->user, batch->jobs[i]->uid);
    for (size_t i = 0; i < batch->event_count; i++)
        printf("event %d %s\n", batch->events[i].event, batch->events[i].job->id);
    for (size_t i = 0; i < batch->gap_count; i++)
        printf("gap %llu %llu %llu %s\n", (unsigned long long)batch->gaps[i].from_ns, (unsigned long long)batch->gaps[i].to_ns,
               (unsigned long long)batch->gaps[i].batches, batch->gaps[i].reason);
}

static void dump(const char *path)
{
    static char record[UINT16_MAX];
    uint8_t size[2];
    FILE *file = fopen(path, "r");
    struct delta_stream *stream;
    struct batch batch;
    if (!file || stream_new(&stream))
        die(path);
    batch_init(&batch);
    while (fread(size, 1, 2, file) == 2) {
        size_t bytes = (size_t)(size[0] | size[1] << 8);
        if (fread(record, 1, bytes, file) != bytes || stream_decode(stream, (struct bytes){ record, bytes }, &batch))
            die("stream_decode");
        print_batch(&batch);
    }
    batch_clear(&batch);
    stream_free(&stream);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "dump") == 0)
        dump(argv[2]);
    else
        make(argv[2], strcmp(argv[1], "make") != 0, strcmp(argv[1], "packed") == 0);
    return 0;
}
