/* Which jobs of a batch are new or changed, which have ended, and which tracks are dropped with them or because they
 * are stale. */
#include "journal/encoder_state.h"

#include "base/clock.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define SWEEP_RECORDS 256     /* records between two searches for stale tracks */
#define SWEEP_RECORDS_FULL 8  /* the same when the stream is close to its limits */

/* A track without samples for this long is dropped, and described again if it returns. The node's own tracks are
 * limited by its hardware; those of jobs (processes) are not. */
#define STALE_NS (600 * NS_PER_S)
#define STALE_NODE_NS (7200 * NS_PER_S)
#define STALE_INTERVALS 3

static bool job_equal(const struct job *a, const struct job *b)
{
    return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->uid == b->uid && a->cores_milli == b->cores_milli
        && a->memory_bytes == b->memory_bytes && strcmp(a->id, b->id) == 0 && strcmp(a->other_id, b->other_id) == 0
        && strcmp(a->source, b->source) == 0 && strcmp(a->user, b->user) == 0;
}

static bool job_fits(const struct job *job)
{
    return strlen(job->id) <= STREAM_STRING_MAX && strlen(job->other_id) <= STREAM_STRING_MAX
        && strlen(job->source) <= STREAM_STRING_MAX && strlen(job->user) <= STREAM_STRING_MAX;
}

/* The number of a known job that no other job of the batch has claimed. A job id can be reused, and both jobs may be in
 * one batch: they are told apart by start time if possible. */
static uint32_t find_job(const struct delta_stream *stream, const struct job *job, uint32_t hint)
{
    const uint8_t *met = stream->encoder->job_met;
    uint32_t same_id = STREAM_NONE;
    if (hint < stream->job_count && stream->jobs[hint] && !met[hint] && job_equal(&stream->jobs[hint]->job, job))
        return hint;
    for (uint32_t i = 0; i < stream->job_count; i++) {
        if (!stream->jobs[i] || met[i] || strcmp(stream->jobs[i]->job.id, job->id) != 0)
            continue;
        if (stream->jobs[i]->job.start_ns == job->start_ns)
            return i;
        same_id = same_id == STREAM_NONE ? i : same_id;
    }
    return same_id;
}

static enum err free_job_number(struct delta_stream *stream, uint32_t *number)
{
    struct encoder_state *encoder = stream->encoder;
    for (*number = 0; *number < STREAM_JOBS_MAX; (*number)++) {
        bool is_used = *number < stream->job_count && stream->jobs[*number];
        if (!is_used && (*number >= encoder->job_met_capacity || !encoder->job_met[*number]))
            break;
    }
    if (*number >= STREAM_JOBS_MAX)
        return FULL;
    enum err err = array_reserve_zeroed(encoder->job_met, encoder->job_met_capacity, *number + 1, VEC_MAX);
    return err ? err : stream_reserve_job(stream, *number);
}

static enum err add_new_job(struct delta_stream *stream, const struct job *job, uint32_t number)
{
    struct encoder_state *encoder = stream->encoder;
    size_t new_weight = stream_job_weight(job);
    for (size_t i = 0; i < encoder->new_job_count; i++)
        new_weight += stream_job_weight(&encoder->new_jobs[i].job->job);
    if (!job_fits(job) || new_weight > STREAM_WEIGHT_MAX - stream->weight)
        return FULL;
    enum err err = array_reserve_zeroed(encoder->new_jobs, encoder->new_job_capacity, encoder->new_job_count + 1, VEC_MAX);
    struct stream_job *copy = err ? NULL : stream_job_copy(job);
    if (!copy)
        return NOMEM;
    encoder->new_jobs[encoder->new_job_count++] = (struct encoder_job){ copy, number };
    return OK;
}

static enum err add_job(struct delta_stream *stream, const struct job *job, uint32_t hint, uint32_t *number)
{
    *number = find_job(stream, job, hint);
    bool is_new = *number == STREAM_NONE;
    enum err err = is_new ? free_job_number(stream, number) : OK;
    if (!err && (is_new || !job_equal(&stream->jobs[*number]->job, job)))
        err = add_new_job(stream, job, *number);
    if (!err)
        stream->encoder->job_met[*number] = 1;
    return err;
}

/* The job of an event should be one of the batch; if it is not, it is added like one. */
static enum err add_event(struct delta_stream *stream, const struct batch *batch, const struct job *job, uint32_t *number)
{
    for (size_t i = 0; batch->jobs && i < batch->job_count; i++)
        if (batch->jobs[i] == job || job_equal(batch->jobs[i], job)) {
            *number = stream->encoder->job_numbers[i];
            return OK;
        }
    return add_job(stream, job, STREAM_NONE, number);
}

static enum err find_ended_jobs(struct delta_stream *stream, const struct batch *batch)
{
    struct encoder_state *encoder = stream->encoder;
    enum err err = OK;
    for (size_t i = 0; i < batch->event_count; i++)
        if (batch->events[i].event == JOB_END)
            encoder->job_met[encoder->event_jobs[i]] = 0;
    for (uint32_t i = 0; i < stream->job_count && !err; i++)
        if (stream->jobs[i] && !encoder->job_met[i])
            err = encoder_list_add(&encoder->dropped_jobs, i);
    for (size_t i = 0; i < encoder->new_job_count && !err; i++) { /* started and ended in one batch */
        uint32_t number = encoder->new_jobs[i].number;
        if (!encoder->job_met[number] && (number >= stream->job_count || !stream->jobs[number]))
            err = encoder_list_add(&encoder->dropped_jobs, number);
    }
    return err;
}

enum err encoder_add_jobs(struct delta_stream *stream, const struct batch *batch)
{
    struct encoder_state *encoder = stream->encoder;
    if (!batch->jobs && !batch->event_count)
        return OK; /* the known jobs continue */
    enum err err = array_reserve_zeroed(encoder->job_met, encoder->job_met_capacity, stream->job_count + 1, VEC_MAX);
    if (!err)
        err = array_reserve_zeroed(encoder->job_numbers, encoder->job_number_capacity, batch->job_count, VEC_MAX);
    if (!err)
        err = array_reserve_zeroed(encoder->event_jobs, encoder->event_job_capacity, batch->event_count, VEC_MAX);
    if (!err)
        memset(encoder->job_met, 0, encoder->job_met_capacity);
    uint32_t hint = 0;
    for (size_t i = 0; batch->jobs && i < batch->job_count && !err; i++) {
        err = add_job(stream, batch->jobs[i], hint, &encoder->job_numbers[i]);
        hint = encoder->job_numbers[i] + 1;
    }
    for (size_t i = 0; i < batch->event_count && !err; i++)
        err = add_event(stream, batch, batch->events[i].job, &encoder->event_jobs[i]);
    return err ? err : find_ended_jobs(stream, batch);
}

void encoder_commit_jobs(struct delta_stream *stream)
{
    struct encoder_state *encoder = stream->encoder;
    for (size_t i = 0; i < encoder->new_job_count; i++)
        stream_set_job_take(stream, encoder->new_jobs[i].number, encoder->new_jobs[i].job);
    encoder->new_job_count = 0;
}

static bool has_ended(const struct batch *batch, const char *job)
{
    for (size_t i = 0; job && i < batch->event_count; i++)
        if (batch->events[i].event == JOB_END && strcmp(batch->events[i].job->id, job) == 0)
            return true;
    return false;
}

/* How close the stream is to its limits, from 0 (far) to 3 (half full). Under pressure tracks are considered stale
 * earlier. */
static unsigned pressure_of(const struct delta_stream *stream)
{
    size_t parts[] = { stream->encoder->track_map.count * 16 / STREAM_TRACKS_MAX, stream->values * 16 / STREAM_VALUES_MAX,
                       stream->weight * 16 / STREAM_WEIGHT_MAX };
    size_t peak = parts[0] > parts[1] ? parts[0] : parts[1];
    peak = parts[2] > peak ? parts[2] : peak;
    return peak >= 8 ? 3 : peak >= 4 ? 2 : peak >= 2 ? 1 : 0;
}

static bool is_stale(const struct delta_stream *stream, const struct delta_track *track, unsigned pressure)
{
    static const uint64_t limit_ns[] = { UINT64_MAX, STALE_NS, STALE_NS / 10, STALE_NS / 60 };
    uint64_t stale_ns = track->job ? STALE_NS : STALE_NODE_NS;
    if (track->interval_ns)
        stale_ns = track->interval_ns > STALE_NS / STALE_INTERVALS ? STALE_INTERVALS * track->interval_ns : STALE_NS;
    if (stale_ns > limit_ns[pressure])
        stale_ns = limit_ns[pressure];
    return track->time_ns < stream->newest_ns && stream->newest_ns - track->time_ns > stale_ns;
}

static enum err drop_idle_sets(struct delta_stream *stream)
{
    enum err err = OK;
    for (uint32_t i = 0; i < stream->set_count && !err; i++) {
        struct stream_set *set = &stream->sets[i];
        bool is_idle = set->set && !set->first;
        if (is_idle && set->was_idle)
            err = encoder_list_add(&stream->encoder->dropped_sets, i);
        set->was_idle = is_idle;
    }
    return err;
}

/* A sampler that replaced its set by one with other metrics reports the same instances with it: drop the tracks of the
 * old set. */
static enum err drop_replaced(struct delta_stream *stream, const struct delta_track *by)
{
    struct encoder_state *encoder = stream->encoder;
    enum err err = OK;
    for (uint32_t i = 0; i < stream->set_count && !err; i++) {
        const struct set *set = stream->sets[i].set;
        if (i == by->set_number || !set || strcmp(set->name, by->set->name) != 0)
            continue;
        struct delta_track *old = encoder_find_track(encoder, i, by->instance, by->job);
        if (!old || old->last_record == encoder->record)
            continue;
        old->last_record = encoder->record; /* list it only once */
        err = encoder_list_add(&encoder->dropped_tracks, old->number);
    }
    return err;
}

static enum err drop_ended(struct delta_stream *stream, const struct batch *batch)
{
    enum err err = OK;
    bool has_end = false;
    for (size_t i = 0; i < batch->event_count; i++)
        has_end |= batch->events[i].event == JOB_END;
    for (uint32_t i = 0; has_end && i < stream->track_count && !err; i++)
        if (stream->tracks[i] && has_ended(batch, stream->tracks[i]->job)) {
            stream->tracks[i]->last_record = stream->encoder->record;
            err = encoder_list_add(&stream->encoder->dropped_tracks, i);
        }
    return err;
}

enum err encoder_find_stale(struct delta_stream *stream, const struct batch *batch)
{
    struct encoder_state *encoder = stream->encoder;
    unsigned pressure = pressure_of(stream);
    bool is_time = encoder->record % (pressure > 1 ? SWEEP_RECORDS_FULL : SWEEP_RECORDS) == 0;
    enum err err = drop_ended(stream, batch);
    for (size_t i = 0; i < encoder->new_tracks.count && !err; i++)
        err = drop_replaced(stream, stream->tracks[encoder->new_tracks.list[i]]);
    for (uint32_t i = 0; is_time && i < stream->track_count && !err; i++) {
        const struct delta_track *track = stream->tracks[i];
        if (track && track->last_record != encoder->record && is_stale(stream, track, pressure))
            err = encoder_list_add(&encoder->dropped_tracks, i);
    }
    return !err && is_time ? drop_idle_sets(stream) : err;
}
