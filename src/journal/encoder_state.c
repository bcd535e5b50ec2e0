/* Finds the set and track of each sample. Samples arrive in the same order at nearly every tick, so the track that
 * followed the previous one last time is tried first. */
#include "journal/encoder_state.h"

#include "base/hash.h"
#include "base/vec.h"
#include "journal/set_pool.h"

#include <stdlib.h>
#include <string.h>

enum err encoder_list_add(struct encoder_list *numbers, uint32_t number)
{
    enum err err = array_reserve_zeroed(numbers->list, numbers->capacity, numbers->count + 1, VEC_MAX);
    if (!err)
        numbers->list[numbers->count++] = number;
    return err;
}

static uint32_t hash_of(uint32_t set_number, const char *instance, const char *job)
{
    uint64_t hash = hash_add_text((HASH_START ^ set_number) * HASH_PRIME, instance);
    return (uint32_t)(job ? hash_add_text(hash, job) : hash);
}

static void hash_insert(struct encoder_state *encoder, struct delta_track *track)
{
    struct delta_track **bucket = &encoder->buckets[track->hash & (encoder->bucket_count - 1)];
    track->hash_next = *bucket;
    *bucket = track;
    encoder->hashed_tracks++;
}

static void hash_remove(struct encoder_state *encoder, struct delta_track *track)
{
    struct delta_track **place = &encoder->buckets[track->hash & (encoder->bucket_count - 1)];
    while (*place && *place != track)
        place = &(*place)->hash_next;
    if (!*place)
        return;
    *place = track->hash_next;
    encoder->hashed_tracks--;
}

/* Rebuilds the hash table over all tracks, with more buckets than there are tracks. */
static enum err rebuild_hash(struct delta_stream *stream)
{
    struct encoder_state *encoder = stream->encoder;
    size_t count = 64;
    while (count <= 2 * (size_t)stream->track_count)
        count *= 2;
    enum err err = array_reserve_zeroed(encoder->buckets, encoder->bucket_capacity, count, VEC_MAX);
    if (err)
        return err;
    encoder->bucket_count = count;
    encoder->hashed_tracks = 0;
    memset(encoder->buckets, 0, count * sizeof(struct delta_track *));
    for (uint32_t i = 0; i < stream->track_count; i++) {
        struct delta_track *track = stream->tracks[i];
        if (!track)
            continue;
        track->hash = hash_of(track->set_number, track->instance, track->job);
        hash_insert(encoder, track);
    }
    return OK;
}

enum err encoder_begin(struct delta_stream *stream)
{
    struct encoder_state *encoder = stream->encoder;
    stream_free_dropped(stream); /* of a record that was decoded before */
    if (!encoder)
        encoder = stream->encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NOMEM;
    encoder->record++;
    encoder->values = encoder->item_count = encoder->link_count = 0;
    encoder->new_sets.count = encoder->new_tracks.count = encoder->new_job_count = 0;
    encoder->dropped_tracks.count = encoder->dropped_sets.count = encoder->dropped_jobs.count = 0;
    return encoder->bucket_count && encoder->hashed_tracks < encoder->bucket_count ? OK : rebuild_hash(stream);
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

/* Is it the set that was at this address before? It may have been freed and another one allocated there, so names and
 * types are compared once per record; units and help texts are assumed to go with them. */
static bool is_set(struct encoder_state *encoder, struct stream_set *ours, const struct set *set)
{
    if (!ours->set || ours->source != set)
        return false;
    if (ours->checked == encoder->record)
        return true;
    if (same_names(ours->set, set)) {
        ours->checked = encoder->record;
        return true;
    }
    ours->source = NULL;
    return false;
}

static bool fits(const char *string)
{
    return !string || strlen(string) <= STREAM_STRING_MAX;
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

static enum err add_set(struct delta_stream *stream, const struct set *set, uint32_t number)
{
    struct encoder_state *encoder = stream->encoder;
    const struct set *kept;
    if (number >= STREAM_SETS_MAX || !set_fits(set))
        return FULL;
    struct set *copy = set_copy(set);
    enum err err = copy ? set_pool_take(copy, &kept) : NOMEM;
    if (!err)
        err = stream_add_set(stream, number, kept);
    if (err)
        return err;
    err = encoder_list_add(&encoder->new_sets, number);
    if (err)
        stream_drop_set(stream, number);
    return err;
}

static enum err find_set(struct delta_stream *stream, const struct set *set, uint32_t *number)
{
    struct encoder_state *encoder = stream->encoder;
    uint32_t free_number = stream->set_count, found = STREAM_NONE;
    for (uint32_t i = 0; i < stream->set_count; i++)
        if (is_set(encoder, &stream->sets[i], set)) {
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
    stream->sets[*number].source = set;
    stream->sets[*number].checked = encoder->record;
    return OK;
}

static bool is_track(const struct delta_track *track, const char *instance, const char *job)
{
    if (strcmp(track->instance, instance) != 0)
        return false;
    return track->job && job ? strcmp(track->job, job) == 0 : track->job == job;
}

static struct delta_track *find_hashed(const struct encoder_state *encoder, uint32_t hash, uint32_t set_number,
                                 const char *instance, const char *job)
{
    struct delta_track *track = encoder->buckets[hash & (encoder->bucket_count - 1)];
    while (track && (track->hash != hash || track->set_number != set_number || !is_track(track, instance, job)))
        track = track->hash_next;
    return track;
}

struct delta_track *encoder_find_track(const struct encoder_state *encoder, uint32_t set_number, const char *instance,
                                 const char *job)
{
    return find_hashed(encoder, hash_of(set_number, instance, job), set_number, instance, job);
}

static uint32_t free_track_number(const struct delta_stream *stream)
{
    if (stream->track_count < STREAM_TRACKS_MAX && stream->track_count < 64 + 2 * stream->encoder->hashed_tracks)
        return stream->track_count; /* tracks that appear together get consecutive numbers: sent as one run */
    uint32_t number = 0;
    while (number < stream->track_count && stream->tracks[number])
        number++;
    return number;
}

static enum err add_track(struct delta_stream *stream, uint32_t set_number, const struct sample *sample, uint32_t hash,
                          struct delta_track **added)
{
    struct encoder_state *encoder = stream->encoder;
    uint32_t number = free_track_number(stream);
    struct bytes job = bytes_of(sample->job);
    if (number >= STREAM_TRACKS_MAX || !fits(sample->instance) || !fits(sample->job))
        return FULL;
    enum err err = stream_add_track(stream, number, set_number, bytes_of(sample->instance), sample->job ? &job : NULL, added);
    if (err)
        return err;
    (*added)->hash = hash;
    hash_insert(encoder, *added);
    err = encoder_list_add(&encoder->new_tracks, number);
    if (!err)
        return OK;
    hash_remove(encoder, *added);
    stream_drop_track(stream, *added);
    return err;
}

static enum err find_track(struct delta_stream *stream, const struct sample *sample, const struct delta_track *before,
                           struct delta_track **found)
{
    struct encoder_state *encoder = stream->encoder;
    struct delta_track *track = stream_track_at(stream, before ? before->follower : 0);
    if (track && is_set(encoder, &stream->sets[track->set_number], sample->set)
        && is_track(track, sample->instance, sample->job)) {
        *found = track;
        return OK;
    }
    uint32_t set_number;
    enum err err = find_set(stream, sample->set, &set_number);
    if (err)
        return err;
    uint32_t hash = hash_of(set_number, sample->instance, sample->job);
    track = find_hashed(encoder, hash, set_number, sample->instance, sample->job);
    if (!track)
        return add_track(stream, set_number, sample, hash, found);
    *found = track;
    return OK;
}

/* Capacity for what samples_encode produces. */
static enum err reserve_items(struct encoder_state *encoder, size_t samples)
{
    size_t items = 3 * encoder->values + encoder->values / 32 + 8 * samples + 8;
    enum err err = array_reserve_zeroed(encoder->items, encoder->item_capacity, items, VEC_MAX);
    return err ? err : array_reserve_zeroed(encoder->deltas, encoder->delta_capacity, encoder->values, VEC_MAX);
}

enum err encoder_add_samples(struct delta_stream *stream, const struct batch *batch)
{
    struct encoder_state *encoder = stream->encoder;
    struct delta_track *before = NULL;
    if (batch->count > STREAM_SAMPLES_MAX)
        return FULL;
    enum err err = array_reserve_zeroed(encoder->tracks, encoder->track_capacity, batch->count, VEC_MAX);
    for (size_t i = 0; i < batch->count && !err; i++) {
        err = find_track(stream, &batch->samples[i], before, &encoder->tracks[i]);
        if (err)
            break;
        struct delta_track *track = encoder->tracks[i];
        track->last_record = encoder->record;
        if (before)
            before->follower = track->number;
        before = track;
        encoder->values += track->set->size;
        if (!track->link_guesses)
            track->link_guesses = calloc(track->set->size + 1, sizeof *track->link_guesses);
        if (!track->link_guesses || encoder->values > STREAM_VALUES_MAX)
            err = track->link_guesses ? FULL : NOMEM;
    }
    return err ? err : reserve_items(encoder, batch->count);
}

void encoder_undo(struct delta_stream *stream)
{
    struct encoder_state *encoder = stream->encoder;
    if (!encoder)
        return;
    while (encoder->new_tracks.count) {
        struct delta_track *track = stream->tracks[encoder->new_tracks.list[--encoder->new_tracks.count]];
        hash_remove(encoder, track);
        stream_drop_track(stream, track);
    }
    while (encoder->new_sets.count)
        stream_drop_set(stream, encoder->new_sets.list[--encoder->new_sets.count]);
    while (encoder->new_job_count)
        free(encoder->new_jobs[--encoder->new_job_count].job);
    stream_free_dropped(stream);
}

void encoder_commit_links(struct delta_stream *stream)
{
    for (size_t i = 0; i < stream->encoder->link_count; i++) {
        const struct encoder_link *link = &stream->encoder->new_links[i];
        stream_set_link(stream->tracks[link->track], link->value, link->link, link->is_made);
    }
}

void encoder_commit_drops(struct delta_stream *stream)
{
    struct encoder_state *encoder = stream->encoder;
    for (size_t i = 0; i < encoder->dropped_tracks.count; i++) {
        struct delta_track *track = stream->tracks[encoder->dropped_tracks.list[i]];
        hash_remove(encoder, track);
        stream_drop_track(stream, track);
    }
    for (size_t i = 0; i < encoder->dropped_sets.count; i++)
        stream_drop_set(stream, encoder->dropped_sets.list[i]);
    for (size_t i = 0; i < encoder->dropped_jobs.count; i++)
        stream_drop_job(stream, encoder->dropped_jobs.list[i]);
}

void encoder_reset(struct encoder_state *encoder)
{
    encoder->bucket_count = encoder->hashed_tracks = 0; /* rebuilt at the next record */
}

size_t encoder_memory(const struct encoder_state *encoder)
{
    return sizeof *encoder + (encoder->bucket_capacity + encoder->track_capacity) * sizeof(struct delta_track *)
        + (encoder->new_sets.capacity + encoder->new_tracks.capacity + encoder->dropped_tracks.capacity
           + encoder->dropped_sets.capacity + encoder->dropped_jobs.capacity + encoder->job_number_capacity
           + encoder->event_job_capacity) * sizeof(uint32_t)
        + encoder->new_job_capacity * sizeof(struct encoder_job) + encoder->job_met_capacity
        + encoder->item_capacity * sizeof(struct encoder_item) + encoder->delta_capacity * sizeof(union value);
}

void encoder_free(struct encoder_state **encoder)
{
    struct encoder_state *b = *encoder;
    if (!b)
        return;
    free(b->buckets);
    free(b->tracks);
    free(b->new_sets.list);
    free(b->new_tracks.list);
    free(b->dropped_tracks.list);
    free(b->dropped_sets.list);
    free(b->dropped_jobs.list);
    free(b->items);
    free(b->deltas);
    free(b->new_jobs);
    free(b->job_numbers);
    free(b->event_jobs);
    free(b->job_met);
    free(b);
    *encoder = NULL;
}
