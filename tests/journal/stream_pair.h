/* Encoder and decoder for tests: what goes in must come out, and both must have the same state afterwards. */
#ifndef SONDE_TESTS_JOURNAL_STREAM_PAIR_H
#define SONDE_TESTS_JOURNAL_STREAM_PAIR_H

#include "tools/unit.h"
#include "journal/stream.h"

struct pair {
    struct delta_stream *encoder, *decoder;
    struct buf record, state, other_state;
    struct batch out;
};

static inline void pair_open(struct pair *pair)
{
    *pair = (struct pair){ 0 };
    assert_int_equal(stream_new(&pair->encoder), OK);
    assert_int_equal(stream_new(&pair->decoder), OK);
    buf_init(&pair->record, STREAM_RECORD_MAX);
    buf_init(&pair->state, STREAM_RECORD_MAX);
    buf_init(&pair->other_state, STREAM_RECORD_MAX);
    batch_init(&pair->out);
}

static inline void pair_close(struct pair *pair)
{
    stream_free(&pair->encoder);
    stream_free(&pair->decoder);
    buf_clear(&pair->record);
    buf_clear(&pair->state);
    buf_clear(&pair->other_state);
    batch_clear(&pair->out);
}

static inline struct bytes bytes_in(const struct buf *buf)
{
    return (struct bytes){ buf->data, buf->size };
}

static inline void assert_same_set(const struct set *a, const struct set *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->size, b->size);
    assert_true(!a->instances == !b->instances && (!a->instances || strcmp(a->instances, b->instances) == 0));
    for (size_t i = 0; i < a->size; i++) {
        assert_string_equal(a->metrics[i].name, b->metrics[i].name);
        assert_string_equal(a->metrics[i].unit, b->metrics[i].unit);
        assert_int_equal(a->metrics[i].kind, b->metrics[i].kind);
        assert_int_equal(a->metrics[i].type, b->metrics[i].type);
        assert_true(!a->metrics[i].source == !b->metrics[i].source);
        assert_true(!a->metrics[i].help == !b->metrics[i].help);
    }
}

static inline void assert_same_sample(const struct sample *a, const struct sample *b)
{
    assert_same_set(a->set, b->set);
    assert_true(a->time_ns == b->time_ns);
    assert_string_equal(a->instance, b->instance);
    assert_true(!a->job == !b->job && (!a->job || strcmp(a->job, b->job) == 0));
    for (size_t i = 0; i < a->set->size; i++) {
        bool known = !a->known || a->known[i];
        assert_true(known == (!b->known || b->known[i]));
        assert_true(!known || a->values[i].u64 == b->values[i].u64);
    }
}

static inline void assert_same_job(const struct job *a, const struct job *b)
{
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->other_id, b->other_id);
    assert_string_equal(a->source, b->source);
    assert_string_equal(a->user, b->user);
    assert_int_equal(a->uid, b->uid);
    assert_true(a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->cores_milli == b->cores_milli
                && a->memory_bytes == b->memory_bytes);
}

static inline const struct job *find_job(const struct batch *batch, const struct job *job)
{
    for (size_t i = 0; i < batch->job_count; i++)
        if (strcmp(batch->jobs[i]->id, job->id) == 0 && batch->jobs[i]->start_ns == job->start_ns)
            return batch->jobs[i];
    return NULL;
}

static inline void assert_same_batch(const struct batch *in, const struct batch *out)
{
    assert_int_equal(in->count, out->count);
    for (size_t i = 0; i < in->count; i++)
        assert_same_sample(&in->samples[i], &out->samples[i]);
    if (in->jobs || in->event_count)
        assert_int_equal(in->job_count, out->job_count);
    for (size_t i = 0; i < in->job_count; i++) {
        assert_non_null(find_job(out, in->jobs[i]));
        assert_same_job(in->jobs[i], find_job(out, in->jobs[i]));
    }
    assert_int_equal(in->event_count, out->event_count);
    for (size_t i = 0; i < in->event_count; i++) {
        assert_int_equal(in->events[i].event, out->events[i].event);
        assert_same_job(in->events[i].job, out->events[i].job);
        assert_non_null(find_job(out, in->events[i].job));
    }
    assert_int_equal(in->gap_count, out->gap_count);
    for (size_t i = 0; i < in->gap_count; i++) {
        assert_true(in->gaps[i].from_ns == out->gaps[i].from_ns && in->gaps[i].to_ns == out->gaps[i].to_ns
                    && in->gaps[i].batches == out->gaps[i].batches);
        assert_string_equal(in->gaps[i].reason, out->gaps[i].reason);
    }
}

static inline void assert_same_state(struct pair *pair)
{
    buf_reset(&pair->state);
    buf_reset(&pair->other_state);
    stream_snapshot(pair->encoder, &pair->state);
    stream_snapshot(pair->decoder, &pair->other_state);
    assert_int_equal(pair->state.size, pair->other_state.size);
    assert_memory_equal(pair->state.data, pair->other_state.data, pair->state.size);
}

/* Returns the size of the record. */
static inline size_t pair_pass(struct pair *pair, const struct batch *in)
{
    buf_reset(&pair->record);
    assert_int_equal(stream_encode(pair->encoder, in, &pair->record), OK);
    pair->out.host = "elsewhere";
    pair->out.stream = 7;
    pair->out.sequence = 8;
    assert_int_equal(stream_decode(pair->decoder, bytes_in(&pair->record), &pair->out), OK);
    assert_string_equal(pair->out.host, "elsewhere");
    assert_true(pair->out.stream == 7 && pair->out.sequence == 8);
    assert_same_batch(in, &pair->out);
    assert_same_state(pair);
    return pair->record.size;
}

/* Replaces the decoder by one restored from a snapshot of the encoder. */
static inline void pair_begin_in_the_middle(struct pair *pair)
{
    buf_reset(&pair->state);
    stream_snapshot(pair->encoder, &pair->state);
    stream_free(&pair->decoder);
    assert_int_equal(stream_new(&pair->decoder), OK);
    assert_int_equal(stream_restore(pair->decoder, bytes_in(&pair->state)), OK);
    assert_same_state(pair);
}

#endif
