/* Which jobs of a batch are new or changed, which are gone, and what goes with them. */
#include "journal/encoder_state.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define SWEEP_RECORDS 256     /* how often we look for what is stale */
#define SWEEP_RECORDS_FULL 8  /* … when there is much of it */

/* A track of which nothing was heard for so long is told anew if it comes back. Those of the node itself are as many as there
 * is hardware, those of jobs (processes) may be without number. */
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
    return strlen(job->id) <= STREAM_TEXT_MAX && strlen(job->other_id) <= STREAM_TEXT_MAX
        && strlen(job->source) <= STREAM_TEXT_MAX && strlen(job->user) <= STREAM_TEXT_MAX;
}

/* The number under which a job was told and which no other job of the batch has taken. A job that runs again under its old
 * id is another one, and both may be in one batch: the start tells them apart, where it can. */
static uint32_t find_job(const struct stream *stream, const struct job *job, uint32_t hint)
{
    const uint8_t *met = stream->bench->job_met;
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

static enum err free_job_number(struct stream *stream, uint32_t *number)
{
    struct stream_bench *bench = stream->bench;
    for (*number = 0; *number < STREAM_JOBS_MAX; (*number)++) {
        bool is_held = *number < stream->job_count && stream->jobs[*number];
        if (!is_held && (*number >= bench->job_met_room || !bench->job_met[*number]))
            break;
    }
    if (*number >= STREAM_JOBS_MAX)
        return FULL;
    enum err err = stream_grow(&bench->job_met, &bench->job_met_room, *number + 1, 1);
    return err ? err : stream_job_room(stream, *number);
}

static enum err note_job(struct stream *stream, const struct job *job, uint32_t number)
{
    struct stream_bench *bench = stream->bench;
    size_t new_weight = stream_job_weight(job);
    for (size_t i = 0; i < bench->new_job_count; i++)
        new_weight += stream_job_weight(&bench->new_jobs[i].job->job);
    if (!job_fits(job) || new_weight > STREAM_WEIGHT_MAX - stream->weight)
        return FULL;
    enum err err = stream_grow(&bench->new_jobs, &bench->new_job_room, bench->new_job_count + 1, sizeof *bench->new_jobs);
    struct stream_job *copy = err ? NULL : stream_job_copy(job);
    if (!copy)
        return NOMEM;
    bench->new_jobs[bench->new_job_count++] = (struct bench_job){ copy, number };
    return OK;
}

static enum err take_job(struct stream *stream, const struct job *job, uint32_t hint, uint32_t *number)
{
    *number = find_job(stream, job, hint);
    bool is_new = *number == STREAM_NONE;
    enum err err = is_new ? free_job_number(stream, number) : OK;
    if (!err && (is_new || !job_equal(&stream->jobs[*number]->job, job)))
        err = note_job(stream, job, *number);
    if (!err)
        stream->bench->job_met[*number] = 1;
    return err;
}

/* The job of an event is one of the batch's; should it not be, it is told as one all the same. */
static enum err take_event(struct stream *stream, const struct batch *batch, const struct job *job, uint32_t *number)
{
    for (size_t i = 0; batch->jobs && i < batch->job_count; i++)
        if (batch->jobs[i] == job || job_equal(batch->jobs[i], job)) {
            *number = stream->bench->job_numbers[i];
            return OK;
        }
    return take_job(stream, job, STREAM_NONE, number);
}

static enum err note_gone_jobs(struct stream *stream, const struct batch *batch)
{
    struct stream_bench *bench = stream->bench;
    enum err err = OK;
    for (size_t i = 0; i < batch->event_count; i++)
        if (batch->events[i].event == JOB_END)
            bench->job_met[bench->event_jobs[i]] = 0;
    for (uint32_t i = 0; i < stream->job_count && !err; i++)
        if (stream->jobs[i] && !bench->job_met[i])
            err = bench_note(&bench->gone_jobs, i);
    for (size_t i = 0; i < bench->new_job_count && !err; i++) { /* began and ended in one batch */
        uint32_t number = bench->new_jobs[i].number;
        if (!bench->job_met[number] && (number >= stream->job_count || !stream->jobs[number]))
            err = bench_note(&bench->gone_jobs, number);
    }
    return err;
}

enum err bench_jobs(struct stream *stream, const struct batch *batch)
{
    struct stream_bench *bench = stream->bench;
    if (!batch->jobs && !batch->event_count)
        return OK; /* those that were told go on */
    enum err err = stream_grow(&bench->job_met, &bench->job_met_room, stream->job_count + 1, 1);
    if (!err)
        err = stream_grow(&bench->job_numbers, &bench->job_number_room, batch->job_count, sizeof *bench->job_numbers);
    if (!err)
        err = stream_grow(&bench->event_jobs, &bench->event_job_room, batch->event_count, sizeof *bench->event_jobs);
    if (!err)
        memset(bench->job_met, 0, bench->job_met_room);
    uint32_t hint = 0;
    for (size_t i = 0; batch->jobs && i < batch->job_count && !err; i++) {
        err = take_job(stream, batch->jobs[i], hint, &bench->job_numbers[i]);
        hint = bench->job_numbers[i] + 1;
    }
    for (size_t i = 0; i < batch->event_count && !err; i++)
        err = take_event(stream, batch, batch->events[i].job, &bench->event_jobs[i]);
    return err ? err : note_gone_jobs(stream, batch);
}

void bench_put_jobs(struct stream *stream)
{
    struct stream_bench *bench = stream->bench;
    for (size_t i = 0; i < bench->new_job_count; i++)
        stream_put_job_take(stream, bench->new_jobs[i].number, bench->new_jobs[i].job);
    bench->new_job_count = 0;
}

static bool has_ended(const struct batch *batch, const char *job)
{
    for (size_t i = 0; job && i < batch->event_count; i++)
        if (batch->events[i].event == JOB_END && strcmp(batch->events[i].job->id, job) == 0)
            return true;
    return false;
}

/* How near we are to the limits: 0 far, 3 half full. Then what is stale goes earlier. */
static unsigned pressure_of(const struct stream *stream)
{
    size_t parts[] = { stream->bench->chained * 16 / STREAM_TRACKS_MAX, stream->values * 16 / STREAM_VALUES_MAX,
                       stream->weight * 16 / STREAM_WEIGHT_MAX };
    size_t most = parts[0] > parts[1] ? parts[0] : parts[1];
    most = parts[2] > most ? parts[2] : most;
    return most >= 8 ? 3 : most >= 4 ? 2 : most >= 2 ? 1 : 0;
}

static bool is_stale(const struct stream *stream, const struct track *track, unsigned pressure)
{
    static const uint64_t at_most_ns[] = { UINT64_MAX, STALE_NS, STALE_NS / 10, STALE_NS / 60 };
    uint64_t stale_ns = track->job ? STALE_NS : STALE_NODE_NS;
    if (track->interval_ns)
        stale_ns = track->interval_ns > STALE_NS / STALE_INTERVALS ? STALE_INTERVALS * track->interval_ns : STALE_NS;
    if (stale_ns > at_most_ns[pressure])
        stale_ns = at_most_ns[pressure];
    return track->time_ns < stream->newest_ns && stream->newest_ns - track->time_ns > stale_ns;
}

static enum err sweep_sets(struct stream *stream)
{
    enum err err = OK;
    for (uint32_t i = 0; i < stream->set_count && !err; i++) {
        struct stream_set *set = &stream->sets[i];
        bool is_idle = set->set && !set->first;
        if (is_idle && set->was_idle)
            err = bench_note(&stream->bench->gone_sets, i);
        set->was_idle = is_idle;
    }
    return err;
}

/* A sampler that made its set anew, with other metrics, gives the same instances with it: the tracks of the old set are
 * over. */
static enum err note_replaced(struct stream *stream, const struct track *by)
{
    struct stream_bench *bench = stream->bench;
    enum err err = OK;
    for (uint32_t i = 0; i < stream->set_count && !err; i++) {
        const struct set *set = stream->sets[i].set;
        if (i == by->set_number || !set || strcmp(set->name, by->set->name) != 0)
            continue;
        struct track *old = bench_find_track(bench, i, by->instance, by->job);
        if (!old || old->met == bench->record)
            continue;
        old->met = bench->record; /* it goes once */
        err = bench_note(&bench->gone_tracks, old->number);
    }
    return err;
}

static enum err note_ended(struct stream *stream, const struct batch *batch)
{
    enum err err = OK;
    bool has_end = false;
    for (size_t i = 0; i < batch->event_count; i++)
        has_end |= batch->events[i].event == JOB_END;
    for (uint32_t i = 0; has_end && i < stream->track_count && !err; i++)
        if (stream->tracks[i] && has_ended(batch, stream->tracks[i]->job)) {
            stream->tracks[i]->met = stream->bench->record;
            err = bench_note(&stream->bench->gone_tracks, i);
        }
    return err;
}

enum err bench_sweep(struct stream *stream, const struct batch *batch)
{
    struct stream_bench *bench = stream->bench;
    unsigned pressure = pressure_of(stream);
    bool is_time = bench->record % (pressure > 1 ? SWEEP_RECORDS_FULL : SWEEP_RECORDS) == 0;
    enum err err = note_ended(stream, batch);
    for (size_t i = 0; i < bench->new_tracks.count && !err; i++)
        err = note_replaced(stream, stream->tracks[bench->new_tracks.list[i]]);
    for (uint32_t i = 0; is_time && i < stream->track_count && !err; i++) {
        const struct track *track = stream->tracks[i];
        if (track && track->met != bench->record && is_stale(stream, track, pressure))
            err = bench_note(&bench->gone_tracks, i);
    }
    return !err && is_time ? sweep_sets(stream) : err;
}
