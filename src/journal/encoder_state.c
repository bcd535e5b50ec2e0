/* Which set and which track a sample is of. Samples come in the same order at nearly every tick, so the track that followed
 * last time is looked at first. */
#include "journal/encoder_state.h"

#include "base/hash.h"
#include "journal/set_pool.h"

#include <stdlib.h>
#include <string.h>

enum err bench_note(struct bench_numbers *numbers, uint32_t number)
{
    enum err err = stream_grow(&numbers->list, &numbers->room, numbers->count + 1, sizeof *numbers->list);
    if (!err)
        numbers->list[numbers->count++] = number;
    return err;
}

static uint32_t hash_of(uint32_t set_number, const char *instance, const char *job)
{
    uint64_t hash = hash_add_text((HASH_START ^ set_number) * HASH_PRIME, instance);
    return (uint32_t)(job ? hash_add_text(hash, job) : hash);
}

static void chain(struct stream_bench *bench, struct track *track)
{
    struct track **bucket = &bench->buckets[track->hash & (bench->bucket_count - 1)];
    track->chain = *bucket;
    *bucket = track;
    bench->chained++;
}

static void unchain(struct stream_bench *bench, struct track *track)
{
    struct track **place = &bench->buckets[track->hash & (bench->bucket_count - 1)];
    while (*place && *place != track)
        place = &(*place)->chain;
    if (!*place)
        return;
    *place = track->chain;
    bench->chained--;
}

/* Anew over all tracks; at least as many buckets as there will be tracks. */
static enum err chain_all(struct stream *stream)
{
    struct stream_bench *bench = stream->bench;
    size_t count = 64;
    while (count <= 2 * (size_t)stream->track_count)
        count *= 2;
    enum err err = stream_grow(&bench->buckets, &bench->bucket_room, count, sizeof(struct track *));
    if (err)
        return err;
    bench->bucket_count = count;
    bench->chained = 0;
    memset(bench->buckets, 0, count * sizeof(struct track *));
    for (uint32_t i = 0; i < stream->track_count; i++) {
        struct track *track = stream->tracks[i];
        if (!track)
            continue;
        track->hash = hash_of(track->set_number, track->instance, track->job);
        chain(bench, track);
    }
    return OK;
}

enum err bench_begin(struct stream *stream)
{
    struct stream_bench *bench = stream->bench;
    stream_forget_gone(stream); /* of a record that was decoded before */
    if (!bench)
        bench = stream->bench = calloc(1, sizeof *bench);
    if (!bench)
        return NOMEM;
    bench->record++;
    bench->values = bench->item_count = bench->link_count = 0;
    bench->new_sets.count = bench->new_tracks.count = bench->new_job_count = 0;
    bench->gone_tracks.count = bench->gone_sets.count = bench->gone_jobs.count = 0;
    return bench->bucket_count && bench->chained < bench->bucket_count ? OK : chain_all(stream);
}

static bool same_names(const struct set *ours, const struct set *set)
{
    if (ours->size != set->size || strcmp(ours->name, set->name) != 0)
        return false;
    for (size_t i = 0; i < set->size; i++)
        if (ours->metrics[i].type != set->metrics[i].type || strcmp(ours->metrics[i].name, set->metrics[i].name) != 0)
            return false;
    return true;
}

/* At the same address as before. A set may have been freed and another one made there, so names are compared all the same,
 * once per record; the rest (units, help) goes with them. */
static bool is_set(struct stream_bench *bench, struct stream_set *ours, const struct set *set)
{
    if (!ours->set || ours->met != set)
        return false;
    if (ours->checked == bench->record)
        return true;
    if (same_names(ours->set, set)) {
        ours->checked = bench->record;
        return true;
    }
    ours->met = NULL;
    return false;
}

static bool fits(const char *text)
{
    return !text || strlen(text) <= STREAM_TEXT_MAX;
}

static bool set_fits(const struct set *set)
{
    bool good = set->size <= SET_METRICS_MAX && fits(set->name) && fits(set->instances);
    for (size_t i = 0; i < set->size && good; i++) {
        const struct metric *m = &set->metrics[i];
        good = fits(m->name) && fits(m->unit) && fits(m->help) && fits(m->source);
    }
    return good;
}

static enum err add_set(struct stream *stream, const struct set *set, uint32_t number)
{
    struct stream_bench *bench = stream->bench;
    const struct set *kept;
    if (number >= STREAM_SETS_MAX || !set_fits(set))
        return FULL;
    struct set *copy = set_copy(set);
    enum err err = copy ? set_pool_take(copy, &kept) : NOMEM;
    if (!err)
        err = stream_put_set(stream, number, kept);
    if (err)
        return err;
    err = bench_note(&bench->new_sets, number);
    if (err)
        stream_drop_set(stream, number);
    return err;
}

static enum err find_set(struct stream *stream, const struct set *set, uint32_t *number)
{
    struct stream_bench *bench = stream->bench;
    uint32_t free_number = stream->set_count, found = STREAM_NONE;
    for (uint32_t i = 0; i < stream->set_count; i++)
        if (is_set(bench, &stream->sets[i], set)) {
            *number = i;
            return OK;
        }
    for (uint32_t i = 0; i < stream->set_count && found == STREAM_NONE; i++) {
        if (!stream->sets[i].set)
            free_number = i < free_number ? i : free_number;
        else if (set_equal(stream->sets[i].set, set))
            found = i;
    }
    enum err err = found == STREAM_NONE ? add_set(stream, set, free_number) : OK;
    if (err)
        return err;
    *number = found == STREAM_NONE ? free_number : found;
    stream->sets[*number].met = set;
    stream->sets[*number].checked = bench->record;
    return OK;
}

static bool is_track(const struct track *track, const char *instance, const char *job)
{
    if (strcmp(track->instance, instance) != 0)
        return false;
    return track->job && job ? strcmp(track->job, job) == 0 : track->job == job;
}

static struct track *find_hashed(const struct stream_bench *bench, uint32_t hash, uint32_t set_number, const char *instance,
                                 const char *job)
{
    struct track *track = bench->buckets[hash & (bench->bucket_count - 1)];
    while (track && (track->hash != hash || track->set_number != set_number || !is_track(track, instance, job)))
        track = track->chain;
    return track;
}

struct track *bench_find_track(const struct stream_bench *bench, uint32_t set_number, const char *instance, const char *job)
{
    return find_hashed(bench, hash_of(set_number, instance, job), set_number, instance, job);
}

static uint32_t free_track_number(const struct stream *stream)
{
    if (stream->track_count < STREAM_TRACKS_MAX && stream->track_count < 64 + 2 * stream->bench->chained)
        return stream->track_count; /* at the end, so that those that came together stay in a row */
    uint32_t number = 0;
    while (number < stream->track_count && stream->tracks[number])
        number++;
    return number;
}

static enum err add_track(struct stream *stream, uint32_t set_number, const struct sample *sample, uint32_t hash,
                          struct track **added)
{
    struct stream_bench *bench = stream->bench;
    uint32_t number = free_track_number(stream);
    struct bytes job = bytes_of(sample->job);
    if (number >= STREAM_TRACKS_MAX || !fits(sample->instance) || !fits(sample->job))
        return FULL;
    enum err err = stream_put_track(stream, number, set_number, bytes_of(sample->instance), sample->job ? &job : NULL, added);
    if (err)
        return err;
    (*added)->hash = hash;
    chain(bench, *added);
    err = bench_note(&bench->new_tracks, number);
    if (!err)
        return OK;
    unchain(bench, *added);
    stream_drop_track(stream, *added);
    return err;
}

static enum err find_track(struct stream *stream, const struct sample *sample, const struct track *before,
                           struct track **found)
{
    struct stream_bench *bench = stream->bench;
    struct track *track = stream_track_at(stream, before ? before->follower : 0);
    if (track && is_set(bench, &stream->sets[track->set_number], sample->set)
        && is_track(track, sample->instance, sample->job)) {
        *found = track;
        return OK;
    }
    uint32_t set_number;
    enum err err = find_set(stream, sample->set, &set_number);
    if (err)
        return err;
    uint32_t hash = hash_of(set_number, sample->instance, sample->job);
    track = find_hashed(bench, hash, set_number, sample->instance, sample->job);
    if (!track)
        return add_track(stream, set_number, sample, hash, found);
    *found = track;
    return OK;
}

/* Room for what samples_encode notes of them. */
static enum err make_room(struct stream_bench *bench, size_t samples)
{
    size_t items = 3 * bench->values + bench->values / 32 + 8 * samples + 8;
    enum err err = stream_grow(&bench->items, &bench->item_room, items, sizeof *bench->items);
    return err ? err : stream_grow(&bench->deltas, &bench->delta_room, bench->values, sizeof *bench->deltas);
}

enum err bench_samples(struct stream *stream, const struct batch *batch)
{
    struct stream_bench *bench = stream->bench;
    struct track *before = NULL;
    if (batch->count > STREAM_SAMPLES_MAX)
        return FULL;
    enum err err = stream_grow(&bench->tracks, &bench->track_room, batch->count, sizeof(struct track *));
    for (size_t i = 0; i < batch->count && !err; i++) {
        err = find_track(stream, &batch->samples[i], before, &bench->tracks[i]);
        if (err)
            break;
        struct track *track = bench->tracks[i];
        track->met = bench->record;
        if (before)
            before->follower = track->number;
        before = track;
        bench->values += track->set->size;
        if (!track->guesses)
            track->guesses = calloc(track->set->size + 1, sizeof *track->guesses);
        if (!track->guesses || bench->values > STREAM_VALUES_MAX)
            err = track->guesses ? FULL : NOMEM;
    }
    return err ? err : make_room(bench, batch->count);
}

void bench_undo(struct stream *stream)
{
    struct stream_bench *bench = stream->bench;
    if (!bench)
        return;
    while (bench->new_tracks.count) {
        struct track *track = stream->tracks[bench->new_tracks.list[--bench->new_tracks.count]];
        unchain(bench, track);
        stream_drop_track(stream, track);
    }
    while (bench->new_sets.count)
        stream_drop_set(stream, bench->new_sets.list[--bench->new_sets.count]);
    while (bench->new_job_count)
        free(bench->new_jobs[--bench->new_job_count].job);
    stream_forget_gone(stream);
}

void bench_put_links(struct stream *stream)
{
    for (size_t i = 0; i < stream->bench->link_count; i++) {
        const struct bench_link *link = &stream->bench->new_links[i];
        stream_put_link(stream->tracks[link->track], link->value, link->link, link->is_made);
    }
}

void bench_drop(struct stream *stream)
{
    struct stream_bench *bench = stream->bench;
    for (size_t i = 0; i < bench->gone_tracks.count; i++) {
        struct track *track = stream->tracks[bench->gone_tracks.list[i]];
        unchain(bench, track);
        stream_drop_track(stream, track);
    }
    for (size_t i = 0; i < bench->gone_sets.count; i++)
        stream_drop_set(stream, bench->gone_sets.list[i]);
    for (size_t i = 0; i < bench->gone_jobs.count; i++)
        stream_drop_job(stream, bench->gone_jobs.list[i]);
}

void stream_bench_reset(struct stream_bench *bench)
{
    bench->bucket_count = bench->chained = 0; /* chained anew at the next record */
}

size_t stream_bench_memory(const struct stream_bench *bench)
{
    return sizeof *bench + bench->bucket_room * sizeof(struct track *) + bench->track_room * sizeof(struct track *)
        + (bench->new_sets.room + bench->new_tracks.room + bench->gone_tracks.room + bench->gone_sets.room
           + bench->gone_jobs.room + bench->job_number_room + bench->event_job_room) * sizeof(uint32_t)
        + bench->new_job_room * sizeof(struct bench_job) + bench->job_met_room
        + bench->item_room * sizeof(struct bench_item) + bench->delta_room * sizeof(union value);
}

void stream_bench_free(struct stream_bench **bench)
{
    struct stream_bench *b = *bench;
    if (!b)
        return;
    free(b->buckets);
    free(b->tracks);
    free(b->new_sets.list);
    free(b->new_tracks.list);
    free(b->gone_tracks.list);
    free(b->gone_sets.list);
    free(b->gone_jobs.list);
    free(b->items);
    free(b->deltas);
    free(b->new_jobs);
    free(b->job_numbers);
    free(b->event_jobs);
    free(b->job_met);
    free(b);
    *bench = NULL;
}
