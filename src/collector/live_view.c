/* A track is shown as long as it is fresh by two clocks: by ours, its host was heard lately; by its host's own, as far as
 * we know how wrong it is, the reading is not old. */
#include "collector/live_view.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define FRESH_NS (30 * NS_PER_S)
#define FRESH_INTERVALS 3

enum err held_view_open(struct held_view *held, const struct receiver *receiver, struct bytes only)
{
    *held = (struct held_view){
        .host = receiver->settings.host, .now_ns = clock_realtime_ns(), .monotonic_ns = clock_monotonic_ns(),
    };
    if (!only.size) {
        held->origins = origins_sorted(&receiver->origins);
        held->count = receiver->origins.count;
        return held->origins ? OK : NOMEM;
    }
    held->origins = calloc(1, sizeof *held->origins);
    if (!held->origins)
        return NOMEM;
    held->origins[0] = origins_find(&receiver->origins, only);
    held->count = held->origins[0] ? 1 : 0;
    return OK;
}

void held_view_close(struct held_view *held)
{
    free(held->origins);
    *held = (struct held_view){ 0 };
}

static bool is_fresh(const struct held_view *held, const struct origin *origin, const struct stream_track *track)
{
    uint64_t limit_ns = FRESH_INTERVALS * track->interval_ns > FRESH_NS ? FRESH_INTERVALS * track->interval_ns : FRESH_NS;
    uint64_t there_ns = held->now_ns + (uint64_t)(origin->ahead_known ? origin->ahead_ns : 0); /* what time it is there */
    if (held->monotonic_ns - origin->newest->taken_ns > limit_ns)
        return false;
    return there_ns < track->time_ns || there_ns - track->time_ns <= limit_ns;
}

static const struct job *find_job(const struct delta_stream *stream, const char *id)
{
    const struct job *const *jobs;
    size_t count = stream_jobs(stream, &jobs);
    for (size_t i = 0; i < count; i++)
        if (strcmp(jobs[i]->id, id) == 0)
            return jobs[i];
    return NULL;
}

static void fill(struct view_entry *entry, const struct origin *origin, const struct stream_track *track)
{
    *entry = (struct view_entry){
        .host = origin->host, .set = track->set, .instance = track->instance, .job = track->job,
        .of = track->job ? find_job(origin->newest->decoder, track->job) : NULL,
        .values = track->values, .known = track->known, .time_ns = track->time_ns, .period_ns = track->interval_ns,
    };
}

static bool next_own(const struct held_view *held, struct view_at *at, struct view_entry *entry)
{
    if (!held->own || at->entry >= held->own->count)
        return false;
    const struct sample *sample = &held->own->samples[at->entry++];
    *entry = (struct view_entry){
        .host = held->host, .set = sample->set, .instance = sample->instance, .values = sample->values,
        .known = sample->known, .time_ns = sample->time_ns,
    };
    return true;
}

static bool next_entry(const void *context, struct view_at *at, struct view_entry *entry)
{
    const struct held_view *held = context;
    struct stream_track track;
    if (at->host == 0 && next_own(held, at, entry))
        return true;
    for (; at->host <= held->count; at->host++, at->entry = 0) {
        const struct origin *origin = at->host ? held->origins[at->host - 1] : NULL;
        if (!origin || !origin->newest || !origin->newest->taken_ns)
            continue;
        while (stream_next(origin->newest->decoder, &at->entry, &track))
            if (is_fresh(held, origin, &track)) {
                fill(entry, origin, &track);
                return true;
            }
    }
    return false;
}

static bool next_job(const void *context, struct view_at *at, const char **host, const struct job **job)
{
    const struct held_view *held = context;
    const struct job *const *jobs;
    for (; at->host < held->count; at->host++, at->entry = 0) {
        const struct origin *origin = held->origins[at->host];
        if (!origin->newest || origin_is_silent(origin, held->now_ns))
            continue;
        if (at->entry < stream_jobs(origin->newest->decoder, &jobs)) {
            *host = origin->host;
            *job = jobs[at->entry++];
            return true;
        }
    }
    return false;
}

struct view held_view_of(const struct held_view *held, uint32_t uid)
{
    static const struct view_source source = { next_entry, next_job };
    return (struct view){ .source = &source, .context = held, .host = held->host, .uid = uid };
}
