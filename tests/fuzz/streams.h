/* Shared by the fuzz targets of streams: a decoder for the input, and an encoder and decoder for what it produced. */
#ifndef SONDE_TESTS_FUZZ_STREAMS_H
#define SONDE_TESTS_FUZZ_STREAMS_H

#include "journal/stream.h"

#include <stdlib.h>
#include <string.h>

struct streams {
    struct delta_stream *decoder, *second, *onward, *end;
    struct batch out, onward_out;
    struct buf state, second_state, record;
};

static inline void streams_require(int holds)
{
    if (!holds)
        abort();
}

static inline void streams_open(struct streams *s)
{
    *s = (struct streams){ 0 };
    streams_require(!stream_new(&s->decoder) && !stream_new(&s->second) && !stream_new(&s->onward) && !stream_new(&s->end));
    buf_init(&s->state, 64u << 20);
    buf_init(&s->second_state, 64u << 20);
    buf_init(&s->record, STREAM_RECORD_MAX);
    batch_init(&s->out);
    batch_init(&s->onward_out);
}

static inline void streams_close(struct streams *s)
{
    stream_free(&s->decoder);
    stream_free(&s->second);
    stream_free(&s->onward);
    stream_free(&s->end);
    buf_clear(&s->state);
    buf_clear(&s->second_state);
    buf_clear(&s->record);
    batch_clear(&s->out);
    batch_clear(&s->onward_out);
}

/* A snapshot of an accepted state restores the same state. */
static inline void streams_check_state(struct streams *s)
{
    struct stream_track track;
    size_t at = 0, count = 0;
    buf_reset(&s->state);
    buf_reset(&s->second_state);
    stream_snapshot(s->decoder, &s->state);
    streams_require(!s->state.failed && s->state.size <= STREAM_RECORD_MAX);
    streams_require(stream_restore(s->second, (struct bytes){ s->state.data, s->state.size }) == OK);
    stream_snapshot(s->second, &s->second_state);
    buf_reset(&s->state); /* now that another stream has its sets, they may be compressed */
    stream_snapshot(s->decoder, &s->state);
    streams_require(s->state.size == s->second_state.size);
    streams_require(memcmp(s->state.data, s->second_state.data, s->state.size) == 0);
    while (stream_next(s->decoder, &at, &track))
        count += track.set->size + strlen(track.instance);
    streams_require(count <= STREAM_RECORD_MAX);
}

static inline void streams_check_samples(const struct batch *a, const struct batch *b)
{
    streams_require(a->count == b->count && a->event_count == b->event_count && a->gap_count == b->gap_count);
    for (size_t i = 0; i < a->count; i++) {
        const struct sample *x = &a->samples[i], *y = &b->samples[i];
        streams_require(x->time_ns == y->time_ns && x->set->size == y->set->size);
        for (size_t k = 0; k < x->set->size; k++)
            streams_require(x->known[k] == y->known[k] && x->values[k].u64 == y->values[k].u64);
    }
}

/* Passes the batch through another stream. The limits apply to everything it carries, so FULL is not an error. */
static inline bool streams_carry_on(struct streams *s)
{
    buf_reset(&s->record);
    enum err err = stream_encode(s->onward, &s->out, &s->record);
    if (err) {
        streams_require(err == FULL);
        return false;
    }
    streams_require(stream_decode(s->end, (struct bytes){ s->record.data, s->record.size }, &s->onward_out) == OK);
    streams_check_samples(&s->out, &s->onward_out);
    return true;
}

static inline void streams_feed(struct streams *s, const uint8_t *data, size_t size)
{
    bool goes_on = true;
    for (unsigned count = 1; size >= 2; count++) {
        size_t record = (size_t)(data[0] | data[1] << 8);
        record = record > size - 2 ? size - 2 : record;
        enum err err = stream_decode(s->decoder, (struct bytes){ (const char *)data + 2, record }, &s->out);
        streams_require(err == OK || err == CORRUPT || err == FULL);
        if (err)
            return;
        goes_on = goes_on && streams_carry_on(s);
        data += 2 + record;
        size -= 2 + record;
        if (count % 8 == 0 || size < 2) /* more expensive than all the rest */
            streams_check_state(s);
    }
}

#endif
