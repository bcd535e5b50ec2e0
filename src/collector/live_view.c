/* A value is shown while it is fresh by two clocks: by ours, the last message of its host is recent; by the host's own,
 * corrected by its known difference, the sample is not old. */
#include "collector/live_view.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define FRESH_NS (30 * NS_PER_S)
#define FRESH_INTERVALS 3

enum err live_view_open(struct live_view *live, const struct receiver *receiver, struct bytes only)
{
    *live = (struct live_view){
        .host = receiver->settings.host, .now_ns = clock_realtime_ns(), .monotonic_ns = clock_monotonic_ns(),
    };
    if (!only.size) {
        live->known_hosts = known_hosts_sorted(&receiver->known_hosts);
        live->count = receiver->known_hosts.map.count;
        return live->known_hosts ? OK : NOMEM;
    }
    live->known_hosts = calloc(1, sizeof *live->known_hosts);
    if (!live->known_hosts)
        return NOMEM;
    live->known_hosts[0] = known_hosts_find(&receiver->known_hosts, only);
    live->count = live->known_hosts[0] ? 1 : 0;
    return OK;
}

void live_view_close(struct live_view *live)
{
    free(live->known_hosts);
    *live = (struct live_view){ 0 };
}

static bool needs_snapshot(const struct live_view *live, const struct known_host *known_host,
                           const struct stream_track *track)
{
    uint64_t limit_ns = FRESH_INTERVALS * track->interval_ns > FRESH_NS ? FRESH_INTERVALS * track->interval_ns : FRESH_NS;
    /* current time on that host */
    uint64_t there_ns = live->now_ns + (uint64_t)(known_host->has_clock_ahead ? known_host->clock_ahead_ns : 0);
    if (live->monotonic_ns - known_host->newest->last_record_ns > limit_ns)
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

static void fill(struct view_entry *entry, const struct known_host *known_host, const struct stream_track *track)
{
    *entry = (struct view_entry){
        .host = known_host->host, .set = track->set, .instance = track->instance, .job = track->job,
        .of = track->job ? find_job(known_host->newest->decoder, track->job) : NULL,
        .values = track->values, .known = track->known, .time_ns = track->time_ns, .period_ns = track->interval_ns,
    };
}

static bool next_own(const struct live_view *live, struct view_position *at, struct view_entry *entry)
{
    if (!live->own || at->entry >= live->own->count)
        return false;
    const struct sample *sample = &live->own->samples[at->entry++];
    *entry = (struct view_entry){
        .host = live->host, .set = sample->set, .instance = sample->instance, .values = sample->values,
        .known = sample->known, .time_ns = sample->time_ns,
    };
    return true;
}

static bool next_entry(const void *context, struct view_position *at, struct view_entry *entry)
{
    const struct live_view *live = context;
    struct stream_track track;
    if (at->host == 0 && next_own(live, at, entry))
        return true;
    for (; at->host <= live->count; at->host++, at->entry = 0) {
        const struct known_host *known_host = at->host ? live->known_hosts[at->host - 1] : NULL;
        if (!known_host || !known_host->newest || !known_host->newest->last_record_ns)
            continue;
        while (stream_next(known_host->newest->decoder, &at->entry, &track))
            if (needs_snapshot(live, known_host, &track)) {
                fill(entry, known_host, &track);
                return true;
            }
    }
    return false;
}

static bool next_job(const void *context, struct view_position *at, const char **host, const struct job **job)
{
    const struct live_view *live = context;
    const struct job *const *jobs;
    for (; at->host < live->count; at->host++, at->entry = 0) {
        const struct known_host *known_host = live->known_hosts[at->host];
        if (!known_host->newest || known_host_is_silent(known_host, live->now_ns))
            continue;
        if (at->entry < stream_jobs(known_host->newest->decoder, &jobs)) {
            *host = known_host->host;
            *job = jobs[at->entry++];
            return true;
        }
    }
    return false;
}

struct view live_view_as_view(const struct live_view *live, uint32_t uid)
{
    static const struct view_source source = { next_entry, next_job };
    return (struct view){ .source = &source, .context = live, .host = live->host, .uid = uid };
}
