/* A stream from outside: made, freed, looked at. What happens inside is in stream_encode.c, stream_decode.c,
 * stream_snapshot.c. */
#include "journal/stream.h"

#include "journal/delta.h"
#include "journal/stream_state.h"

#include <stdlib.h>

enum err stream_new(struct stream **stream)
{
    *stream = calloc(1, sizeof **stream);
    rank_codes_make();
    if (*stream)
        buf_init(&(*stream)->texts, STREAM_RECORD_MAX);
    return *stream ? OK : NOMEM;
}

void stream_free(struct stream **stream)
{
    struct stream *s = *stream;
    if (!s)
        return;
    stream_empty(s);
    stream_bench_free(&s->bench);
    free(s->sets);
    free(s->gone_sets);
    free(s->tracks);
    free(s->jobs);
    free(s->heard);
    free(s->job_list);
    free(s->events);
    free(s->gaps);
    buf_clear(&s->texts);
    free(s);
    *stream = NULL;
}

static const struct track *first_from(const struct stream *stream, uint32_t set_number)
{
    for (uint32_t i = set_number; i < stream->set_count; i++)
        if (stream->sets[i].first)
            return stream->sets[i].first;
    return NULL;
}

/* *at is the number of the last one, + 1. */
bool stream_next(const struct stream *stream, size_t *at, struct stream_track *track)
{
    const struct track *last = *at ? stream_track_at(stream, *at - 1) : NULL;
    const struct track *next = last ? last->after : NULL;
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

size_t stream_jobs(const struct stream *stream, const struct job *const **jobs)
{
    *jobs = stream->job_list;
    return stream->job_list_count;
}

uint64_t stream_time_ns(const struct stream *stream)
{
    return stream->newest_ns;
}

size_t stream_memory(const struct stream *stream)
{
    size_t bytes = sizeof *stream + stream->set_room * (sizeof *stream->sets + sizeof *stream->gone_sets)
        + stream->heard_room * sizeof *stream->heard
        + stream->track_room * sizeof *stream->tracks + stream->job_room * sizeof *stream->jobs
        + stream->job_list_room * sizeof *stream->job_list + stream->event_room * sizeof *stream->events
        + stream->gap_room * sizeof *stream->gaps + stream->texts.room;
    for (uint32_t i = 0; i < stream->track_count; i++) {
        const struct track *track = stream->tracks[i];
        if (!track)
            continue;
        bytes += sizeof *track + track->set->size * STREAM_VALUE_BYTES + stream_track_weight(track->instance, track->job);
        bytes += track->guesses ? track->set->size * sizeof *track->guesses : 0;
    }
    for (uint32_t i = 0; i < stream->job_count; i++)
        if (stream->jobs[i])
            bytes += sizeof(struct stream_job) + stream_job_weight(&stream->jobs[i]->job);
    return bytes + (stream->bench ? stream_bench_memory(stream->bench) : 0);
}
