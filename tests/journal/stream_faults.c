/* The codec while one allocation fails, each in turn: an encoder that fails has changed nothing; a decoder that fails can be
 * restored. */
#include "journal/stream_pair.h"

#include "tools/faults.h"

#define START_NS 1794796508000319262ull
#define STEPS 5
#define TRACKS 40

static const struct metric old_metrics[] = { { "a", "1", COUNTER, U64, "", NULL } };
static const struct metric new_metrics[] = { { "a", "1", COUNTER, U64, "", NULL }, { "b", "1", GAUGE, U64, "", NULL } };
static const struct set old_set = { "net", old_metrics, 1, "device" };
static const struct set new_set = { "net", new_metrics, 2, "device" };

struct input {
    struct batch batch;
    struct job job;
    const struct job *jobs[1];
    struct batch_event event;
};

static void add_track(struct batch *batch, const struct set *set, size_t number, uint64_t step, const char *job)
{
    static char instances[TRACKS][16]; /* the batch borrows them */
    snprintf(instances[number], sizeof instances[number], "device%zu", number);
    struct sample *sample = batch_add(batch, set, START_NS + step * 1000000000, instances[number]);
    sample->job = job;
    for (size_t i = 0; i < set->size; i++)
        sample_set_u64(sample, i, number * 1000 + step);
}

/* Step 0: a node. 1: a job begins. 2: a set is replaced, the job changes. 3: many tracks. 4: the job ends. */
static void fill(struct input *input, uint64_t step)
{
    static const enum job_event events[STEPS] = { 0, JOB_BEGIN, JOB_CHANGE, 0, JOB_END };
    batch_init(&input->batch);
    for (size_t i = 0; i < (step == 3 ? TRACKS : 2); i++)
        add_track(&input->batch, step < 2 ? &old_set : &new_set, i, step, NULL);
    if (step)
        add_track(&input->batch, step < 2 ? &old_set : &new_set, 0, step, "4711");
    input->job = (struct job){ .id = "4711", .other_id = "", .source = "slurm", .user = step < 2 ? "ada" : "grace",
                               .start_ns = START_NS, .end_ns = step == 4 ? START_NS + 9000000000 : 0, .cgroup = "" };
    input->jobs[0] = &input->job;
    input->event = (struct batch_event){ events[step], &input->job };
    if (step == 0 || step == 3)
        return;
    input->batch.jobs = input->jobs;
    input->batch.job_count = 1;
    input->batch.events = &input->event;
    input->batch.event_count = 1;
}

/* A pair that has passed all steps before this one; the buffers do not grow any more. */
static void open_at(struct pair *pair, struct input *input, uint64_t step)
{
    pair_open(pair);
    for (uint64_t i = 0; i < step; i++) {
        fill(input, i);
        pair_pass(pair, &input->batch);
        batch_clear(&input->batch);
    }
    fill(input, step);
}

static void close_all(struct pair *pair, struct input *input)
{
    batch_clear(&input->batch);
    pair_close(pair);
}

static void encode_without_memory(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < STEPS; step++) {
        struct fault fault = { .kind = FAULT_MEMORY };
        struct pair pair;
        struct input input;
        for (open_at(&pair, &input, step); faults_next(&fault); close_all(&pair, &input), open_at(&pair, &input, step)) {
            buf_reset(&pair.record);
            enum err err = stream_encode(pair.encoder, &input.batch, &pair.record);
            if (!faults_end(&fault))
                assert_int_equal(err, OK);
            if (err) {
                assert_int_equal(err, NOMEM);
                assert_same_state(&pair);
                buf_clear(&pair.record);
                pair_pass(&pair, &input.batch);
            } else {
                assert_int_equal(stream_decode(pair.decoder, bytes_in(&pair.record), &pair.out), OK);
                assert_same_batch(&input.batch, &pair.out);
                assert_same_state(&pair);
            }
        }
        close_all(&pair, &input);
        if (step == 0 || step == 3)
            assert_true(fault.number > 2);
    }
}

/* The encoder is one record ahead; before: the state of the decoder. */
static void open_encoded(struct pair *pair, struct input *input, uint64_t step, struct buf *before)
{
    open_at(pair, input, step);
    buf_init(before, STREAM_RECORD_MAX);
    stream_snapshot(pair->decoder, before);
    buf_reset(&pair->record);
    assert_int_equal(stream_encode(pair->encoder, &input->batch, &pair->record), OK);
}

static void decode_without_memory(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < STEPS; step++) {
        struct fault fault = { .kind = FAULT_MEMORY };
        struct pair pair;
        struct input input;
        struct buf before;
        while (open_encoded(&pair, &input, step, &before), faults_next(&fault)) {
            enum err err = stream_decode(pair.decoder, bytes_in(&pair.record), &pair.out);
            if (!faults_end(&fault))
                assert_int_equal(err, OK);
            if (err) {
                assert_int_equal(err, NOMEM);
                assert_int_equal(stream_restore(pair.decoder, bytes_in(&before)), OK);
                assert_int_equal(stream_decode(pair.decoder, bytes_in(&pair.record), &pair.out), OK);
            }
            assert_same_batch(&input.batch, &pair.out);
            assert_same_state(&pair);
            buf_clear(&before);
            close_all(&pair, &input);
        }
        buf_clear(&before);
        close_all(&pair, &input);
    }
}

/* A snapshot that could not be restored leaves an empty stream, which can be restored again. */
static void restore_without_memory(void **state)
{
    (void)state;
    struct fault fault = { .kind = FAULT_MEMORY };
    struct pair pair;
    struct input input;
    open_at(&pair, &input, STEPS - 1);
    buf_reset(&pair.state);
    stream_snapshot(pair.encoder, &pair.state);
    while (faults_next(&fault)) {
        enum err err = stream_restore(pair.decoder, bytes_in(&pair.state));
        if (!faults_end(&fault))
            assert_int_equal(err, OK);
        if (err) {
            struct stream_track track;
            assert_int_equal(err, NOMEM);
            assert_false(stream_next(pair.decoder, &(size_t){ 0 }, &track));
            assert_int_equal(stream_restore(pair.decoder, bytes_in(&pair.state)), OK);
        }
        assert_same_state(&pair);
    }
    assert_true(fault.number > 2);
    close_all(&pair, &input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encode_without_memory),
        cmocka_unit_test(decode_without_memory),
        cmocka_unit_test(restore_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
