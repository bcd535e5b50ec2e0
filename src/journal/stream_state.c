/* Tables of a stream: add, drop, free. Used by the encoder, the decoder and stream_restore. */
#include "journal/stream_state.h"

#include "base/vec.h"
#include "journal/delta.h"
#include "journal/set_pool.h"

#include <stdlib.h>
#include <string.h>

static size_t string_weight(const char *text)
{
    return text ? strlen(text) + 1 : 1;
}

size_t stream_set_weight(const struct set *set)
{
    size_t weight = 32 + string_weight(set->name) + string_weight(set->instances);
    for (size_t i = 0; i < set->size; i++) {
        const struct metric *m = &set->metrics[i];
        weight += 16 + string_weight(m->name) + string_weight(m->unit) + string_weight(m->help) + string_weight(m->source);
    }
    return weight;
}

size_t stream_track_weight(const char *instance, const char *job)
{
    return 32 + string_weight(instance) + string_weight(job);
}

size_t stream_job_weight(const struct job *job)
{
    return 96 + string_weight(job->id) + string_weight(job->other_id) + string_weight(job->source) + string_weight(job->user);
}

enum err stream_add_set(struct delta_stream *stream, uint32_t number, const struct set *set)
{
    size_t capacity = stream->set_capacity, dropped_capacity = capacity, weight = stream_set_weight(set);
    enum err err = weight > STREAM_WEIGHT_MAX - stream->weight ? FULL : OK;
    if (!err)
        err = array_reserve_zeroed(stream->dropped_sets, dropped_capacity, number + 1, VEC_MAX);
    if (!err)
        err = array_reserve_zeroed(stream->sets, capacity, number + 1, VEC_MAX);
    if (err) {
        set_pool_release(set);
        return err;
    }
    stream->set_capacity = capacity;
    stream->sets[number] = (struct stream_set){ .set = set };
    if (number >= stream->set_count)
        stream->set_count = number + 1;
    stream->weight += weight;
    return OK;
}

/* Values first because of their alignment, then the bytes. */
static struct delta_track *track_new(const struct set *set, struct bytes instance, const struct bytes *job)
{
    size_t strings = instance.size + 1 + (job ? job->size + 1 : 0);
    struct delta_track *track = calloc(1, sizeof *track + set->size * STREAM_VALUE_BYTES + strings);
    if (!track)
        return NULL;
    track->values = (union value *)(track + 1);
    track->links = (uint16_t *)(track->values + set->size);
    track->known = (uint8_t *)(track->links + set->size);
    track->sizes = track->known + set->size;
    track->units = track->sizes + set->size;
    char *text = (char *)track->units + set->size;
    for (size_t i = 0; i < set->size; i++)
        track->units[i] = (uint8_t)((set->metrics[i].type == F64 ? UNIT_IS_REAL : 0)
                                    | (set->metrics[i].kind == COUNTER ? UNIT_IS_COUNTER : 0));
    track->set = set;
    track->instance = text;
    if (instance.size)
        memcpy(text, instance.data, instance.size);
    text += instance.size + 1;
    track->job = job ? text : NULL;
    if (job && job->size)
        memcpy(text, job->data, job->size);
    return track;
}

static void link_track(struct stream_set *set, struct delta_track *track)
{
    track->before = set->last;
    if (set->last)
        set->last->after = track;
    else
        set->first = track;
    set->last = track;
}

enum err stream_add_track(struct delta_stream *stream, uint32_t number, uint32_t set_number, struct bytes instance,
                          const struct bytes *job, struct delta_track **put)
{
    struct stream_set *set = &stream->sets[set_number];
    if (set->set->size > STREAM_VALUES_MAX - stream->values)
        return FULL;
    if (array_reserve_zeroed(stream->tracks, stream->track_capacity, number + 1, VEC_MAX))
        return NOMEM;
    struct delta_track *track = track_new(set->set, instance, job);
    if (!track)
        return NOMEM;
    size_t weight = stream_track_weight(track->instance, track->job);
    if (weight > STREAM_WEIGHT_MAX - stream->weight) {
        free(track);
        return FULL;
    }
    track->number = number;
    track->set_number = set_number;
    track->follower = STREAM_NONE;
    link_track(set, track);
    stream->tracks[number] = track;
    if (number >= stream->track_count)
        stream->track_count = number + 1;
    stream->values += set->set->size;
    stream->weight += weight;
    *put = track;
    return OK;
}

void stream_drop_set(struct delta_stream *stream, uint32_t number)
{
    const struct set *set = stream->sets[number].set;
    stream->weight -= stream_set_weight(set);
    stream->dropped_sets[stream->dropped_set_count++] = set;
    stream->sets[number] = (struct stream_set){ 0 };
    while (stream->set_count && !stream->sets[stream->set_count - 1].set)
        stream->set_count--;
}

void stream_drop_track(struct delta_stream *stream, struct delta_track *track)
{
    struct stream_set *set = &stream->sets[track->set_number];
    *(track->before ? &track->before->after : &set->first) = track->after;
    *(track->after ? &track->after->before : &set->last) = track->before;
    stream->values -= track->set->size;
    stream->weight -= stream_track_weight(track->instance, track->job);
    stream->tracks[track->number] = NULL;
    while (stream->track_count && !stream->tracks[stream->track_count - 1])
        stream->track_count--;
    track->after = stream->dropped_tracks;
    stream->dropped_tracks = track;
}

static const char *copy_string(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

struct stream_job *stream_job_copy(const struct job *job)
{
    size_t strings = strlen(job->id) + strlen(job->other_id) + strlen(job->source) + strlen(job->user) + 4;
    struct stream_job *copy = malloc(sizeof *copy + strings);
    if (!copy)
        return NULL;
    char *at = (char *)(copy + 1);
    *copy = (struct stream_job){ .job = {
        .id = copy_string(&at, job->id),
        .other_id = copy_string(&at, job->other_id),
        .source = copy_string(&at, job->source),
        .user = copy_string(&at, job->user),
        .uid = job->uid,
        .start_ns = job->start_ns,
        .end_ns = job->end_ns,
        .cores_milli = job->cores_milli,
        .memory_bytes = job->memory_bytes,
        .cgroup = "",
    } };
    return copy;
}

enum err stream_reserve_job(struct delta_stream *stream, uint32_t number)
{
    return array_reserve_zeroed(stream->jobs, stream->job_capacity, number + 1, VEC_MAX);
}

void stream_set_job_take(struct delta_stream *stream, uint32_t number, struct stream_job *job)
{
    if (number < stream->job_count && stream->jobs[number])
        stream_drop_job(stream, number);
    job->job.slot = number;
    stream->jobs[number] = job;
    if (number >= stream->job_count)
        stream->job_count = number + 1;
    stream->weight += stream_job_weight(&job->job);
}

void stream_drop_job(struct delta_stream *stream, uint32_t number)
{
    struct stream_job *job = stream->jobs[number];
    stream->weight -= stream_job_weight(&job->job);
    stream->jobs[number] = NULL;
    while (stream->job_count && !stream->jobs[stream->job_count - 1])
        stream->job_count--;
    job->next = stream->dropped_jobs;
    stream->dropped_jobs = job;
}

void stream_list_jobs(struct delta_stream *stream)
{
    stream->job_list_count = 0;
    for (uint32_t i = 0; i < stream->job_count; i++)
        if (stream->jobs[i])
            stream->job_list[stream->job_list_count++] = &stream->jobs[i]->job;
}

void stream_free_dropped(struct delta_stream *stream)
{
    for (struct delta_track *track = stream->dropped_tracks, *next; track; track = next) {
        next = track->after;
        free(track->link_guesses);
        free(track);
    }
    stream->dropped_tracks = NULL;
    while (stream->dropped_set_count)
        set_pool_release(stream->dropped_sets[--stream->dropped_set_count]);
    for (struct stream_job *job = stream->dropped_jobs, *next; job; job = next) {
        next = job->next;
        free(job);
    }
    stream->dropped_jobs = NULL;
}

void stream_clear(struct delta_stream *stream)
{
    for (uint32_t i = stream->track_count; i-- > 0;)
        if (i < stream->track_count && stream->tracks[i])
            stream_drop_track(stream, stream->tracks[i]);
    for (uint32_t i = stream->set_count; i-- > 0;)
        if (i < stream->set_count && stream->sets[i].set)
            stream_drop_set(stream, i);
    for (uint32_t i = stream->job_count; i-- > 0;)
        if (i < stream->job_count && stream->jobs[i])
            stream_drop_job(stream, i);
    stream_free_dropped(stream);
    stream->time_ns = stream->step_ns = stream->newest_ns = 0;
    stream->job_list_count = 0;
    if (stream->encoder)
        encoder_reset(stream->encoder);
}
