/* A spool of any records is merged, and what comes out is a tree that holds together. The first byte says what follows:
 * a spool as it stands in a file; bodies of records (kind, size, bytes), framed here; or, for depth, one byte for each
 * field of a record, with few pids and near times, so that everybody meets everybody. */
#include "merge/merge.h"
#include "spool/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fuzz_spool(const uint8_t *data, size_t size);

#define RUN_PID 7
#define FRAME_MAX (8u << 10)
#define SPOOL_MAX (4u << 20)
#define START_NS 1000000000000ull

#define require(holds) \
    do { \
        if (!(holds)) { \
            fprintf(stderr, "does not hold: %s (line %d)\n", #holds, __LINE__); \
            abort(); \
        } \
    } while (0)

struct input {
    const uint8_t *at, *end;
};

static uint8_t next(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

static uint64_t make_number(struct input *in, const char *name)
{
    uint64_t byte = next(in);
    size_t size = strlen(name);
    if (is(name, "pid") || is(name, "ppid") || is(name, "tid") || is(name, "waiter"))
        return 1 + byte % 12;
    if (size > 3 && is(name + size - 3, "_ns"))
        return START_NS + byte * 1000000 + (byte % 7) * 1000000000;
    if (is(name, "status"))
        return byte % 3 ? byte << 8 : byte;
    if (is(name, "size") || is(name, "set") || is(name, "copied") || is(name, "start_ticks"))
        return byte % 4;
    return byte;
}

static struct bytes make_text(struct input *in)
{
    static const char texts[] = "/bin/sh\0/bin/true\0-c\0\1\1\1\1\1\2\3\4\5\6\7";
    uint8_t byte = next(in);
    size_t from = byte % 16, size = byte / 16;
    return (struct bytes){ texts + from, size < sizeof texts - from ? size : sizeof texts - from };
}

static struct counters make_counters(struct input *in)
{
    struct counters counters = { 0 };
    uint8_t byte = next(in);
    if (byte & 1)
        counters_set(&counters, COUNTER_usertime, 100 * (uint64_t)byte);
    if (byte & 2)
        counters_set(&counters, COUNTER_systemtime, byte);
    for (int i = COUNTER_rssmax; byte & 4 && i < COUNTERS_SIZE; i++)
        counters_set(&counters, (enum counter)i, (uint64_t)byte * (uint64_t)i);
    return counters;
}

static void add_frame(struct buf *spool, uint8_t *frame, enum record_kind kind, size_t body_size)
{
    buf_add(spool, frame, frame_finish(frame, kind, body_size));
}

#define MAKE_number(field) make_number(in, #field)
#define MAKE_text(field) make_text(in)
#define MAKE_counters(field) make_counters(in)
#define FIELD(type, field) record.field = MAKE_##type(field);
#define X(number, name, fields) \
    static void make_##name(struct input *in, struct buf *spool) \
    { \
        uint8_t frame[FRAME_MAX]; \
        struct packer p = { frame + FRAME_HEAD, frame + sizeof frame - 8, false }; \
        struct name##_record record = { 0 }; \
        fields(FIELD) \
        record_pack_##name(&p, &record); \
        require(!p.full); \
        add_frame(spool, frame, RECORD_KIND_##name, (size_t)(p.at - frame) - FRAME_HEAD); \
    }
RECORD_KINDS(X)
#undef X
#undef FIELD

static void make_records(struct input *in, struct buf *spool)
{
    while (in->at < in->end) {
        switch (next(in) % 20) {
#define X(number, name, fields) \
    case number: make_##name(in, spool); break;
            RECORD_KINDS(X)
#undef X
        }
    }
}

static void frame_bodies(struct input *in, struct buf *spool)
{
    uint8_t frame[FRAME_MAX];
    while (in->end - in->at >= 2) {
        enum record_kind kind = next(in) % 20;
        size_t size = next(in);
        if (size > (size_t)(in->end - in->at))
            size = (size_t)(in->end - in->at);
        memcpy(frame + FRAME_HEAD, in->at, size);
        in->at += size;
        add_frame(spool, frame, kind, size);
    }
}

static void check_process(const struct run *run, uint32_t i, uint32_t *threads)
{
    const struct process *p = &run->processes[i];
    require(p->last >= i && p->last < run->process_count && p->state <= PROCESS_LOST);
    require(p->parent == PROCESS_NO_PARENT || (p->parent < i && p->last <= run->processes[p->parent].last));
    require(p->thread_count >= 1);
    require(p->pid != RUN_PID && p->counters.known >> COUNTERS_SIZE == 0);
    require(!p->end_ns || p->start_ns <= p->end_ns || p->state == PROCESS_EXECED || p->image > 0);
    require(p->events == UINT32_MAX || p->events < run->counts_count);
    if (p->thread_count == 1)
        return;
    require(p->thread_first == *threads && run->threads[p->thread_first].tid == p->pid);
    *threads += p->thread_count;
}

static void check_run(const struct run *run)
{
    uint32_t threads = 0;
    for (uint32_t i = 0; i < run->process_count; i++)
        check_process(run, i, &threads);
    require(threads == run->thread_count);
    for (uint32_t i = 0; i < threads; i++)
        require(run->threads[i].events == UINT32_MAX || run->threads[i].events < run->counts_count);
    for (size_t i = 0; i < run->series_count; i++)
        for (size_t row = 1; row < run->series[i].count; row++)
            require(run->series[i].times_ns[row] >= run->series[i].times_ns[row - 1]);
}

int fuzz_spool(const uint8_t *data, size_t size)
{
    struct input in = { data, data + size };
    struct buf spool;
    struct merged merged;
    uint8_t how = next(&in) % 3;
    uint8_t frame[FRAME_MAX];
    buf_init(&spool, SPOOL_MAX);
    if (how) {
        struct packer p = { frame + FRAME_HEAD, frame + sizeof frame - 8, false };
        record_pack_run(&p, &(struct run_record){ .run_id = bytes_of("run"), .pid = RUN_PID, .time_ns = START_NS });
        add_frame(&spool, frame, RECORD_KIND_run, (size_t)(p.at - frame) - FRAME_HEAD);
    }
    if (how == 0)
        buf_add(&spool, in.at, (size_t)(in.end - in.at));
    else if (how == 1)
        frame_bodies(&in, &spool);
    else
        make_records(&in, &spool);
    if (merge_bytes(&merged, (struct bytes){ spool.data, spool.size }) == OK && how)
        check_run(&merged.run);
    merge_clear(&merged);
    buf_clear(&spool);
    return 0;
}
