/* Life cycle and inspection of a stream. The codec is in stream_encode.c, stream_decode.c and stream_snapshot.c. */
#include "journal/stream.h"

#include "journal/delta.h"
#include "journal/stream_state.h"

#include <stdlib.h>

enum err stream_new(struct delta_stream **stream)
{
    *stream = calloc(1, sizeof **stream);
    delta_init();
    if (*stream)
        buf_init(&(*stream)->strings, STREAM_RECORD_MAX);
    return *stream ? OK : NOMEM;
}

void stream_free(struct delta_stream **stream)
{
    struct delta_stream *s = *stream;
    if (!s)
        return;
    stream_clear(s);
    encoder_free(&s->encoder);
    free(s->sets);
    free(s->dropped_sets);
    free(s->tracks);
    free(s->jobs);
    free(s->decoded_tracks);
    free(s->job_list);
    free(s->events);
    free(s->gaps);
    buf_clear(&s->strings);
    free(s);
    *stream = NULL;
}

static const struct delta_track *first_from(const struct delta_stream *stream, uint32_t set_number)
{
    for (uint32_t i = set_number; i < stream->set_count; i++)
        if (stream->sets[i].first)
            return stream->sets[i].first;
    return NULL;
}

/* at is the number of the previous track + 1. */
bool stream_next(const struct delta_stream *stream, size_t *at, struct stream_track *track)
{
    const struct delta_track *last = *at ? stream_track_at(stream, *at - 1) : NULL;
    const struct delta_track *next = last ? last->after : NULL;
    if (!next && (last || *at == 0))
        next = first_from(stream, last ? last->set_number + 1 : 0);
    if (!next)
        return false;
    *at = (size_t)next->number + 1;
    *track = (struct stream_track){
        next->set, next->instance, next->job, next->values, next->known, next->time_ns, next->interval_ns,
    };
    return true;
}

size_t stream_jobs(const struct delta_stream *stream, const struct job *const **jobs)
{
    *jobs = stream->job_list;
    return stream->job_list_count;
}

uint64_t stream_time_ns(const struct delta_stream *stream)
{
    return stream->newest_ns;
}

size_t stream_memory(const struct delta_stream *stream)
{
    size_t bytes = sizeof *stream + stream->set_capacity * (sizeof *stream->sets + sizeof *stream->dropped_sets)
        + stream->decoded_capacity * sizeof *stream->decoded_tracks
        + stream->track_capacity * sizeof *stream->tracks + stream->job_capacity * sizeof *stream->jobs
        + stream->job_list_capacity * sizeof *stream->job_list + stream->event_capacity * sizeof *stream->events
        + stream->gap_capacity * sizeof *stream->gaps + stream->strings.capacity;
    for (uint32_t i = 0; i < stream->track_count; i++) {
        const struct delta_track *track = stream->tracks[i];
        if (!track)
            continue;
        bytes += sizeof *track + track->set->size * STREAM_VALUE_BYTES + stream_track_weight(track->instance, track->job);
        bytes += track->link_guesses ? track->set->size * sizeof *track->link_guesses : 0;
    }
    for (uint32_t i = 0; i < stream->job_count; i++)
        if (stream->jobs[i])
            bytes += sizeof(struct stream_job) + stream_job_weight(&stream->jobs[i]->job);
    return bytes + (stream->encoder ? encoder_memory(stream->encoder) : 0);
}
