/* Finds the set and track of each sample. Samples arrive in the same order at nearly every tick, so the track that
 * followed the previous one last time is tried first. */
#include "journal/encoder_state.h"

#include "base/map.h"
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

struct track_key {
    uint32_t set_number;
    const char *instance, *job; /* job: NULL for the node */
};

static uint64_t hash_of(const struct track_key *key)
{
    uint64_t hash = map_hash_string(map_hash(0, &key->set_number, sizeof key->set_number), key->instance);
    return key->job ? map_hash_string(hash, key->job) : hash;
}

static uint64_t hash_of_track(const struct delta_track *track)
{
    return hash_of(&(struct track_key){ track->set_number, track->instance, track->job });
}

static void forget_track(struct encoder_state *encoder, const struct delta_track *track)
{
    map_remove(&encoder->track_map, hash_of_track(track), track);
}

/* All tracks of the stream into the map: at first, and after records were decoded. */
static enum err rebuild_map(struct delta_stream *stream)
{
    struct encoder_state *encoder = stream->encoder;
    enum err err = OK;
    map_reset(&encoder->track_map);
    for (uint32_t i = 0; i < stream->track_count && !err; i++)
        if (stream->tracks[i])
            err = map_add(&encoder->track_map, hash_of_track(stream->tracks[i]), stream->tracks[i], STREAM_TRACKS_MAX);
    encoder->has_map = !err;
    return err;
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
    return encoder->has_map ? OK : rebuild_map(stream);
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

static bool has_key(const void *item, const void *key)
{
    const struct delta_track *track = item;
    const struct track_key *wanted = key;
    return track->set_number == wanted->set_number && is_track(track, wanted->instance, wanted->job);
}

struct delta_track *encoder_find_track(const struct encoder_state *encoder, uint32_t set_number, const char *instance,
                                       const char *job)
{
    struct track_key key = { set_number, instance, job };
    return map_find(&encoder->track_map, hash_of(&key), has_key, &key);
}

static uint32_t free_track_number(const struct delta_stream *stream)
{
    if (stream->track_count < STREAM_TRACKS_MAX && stream->track_count < 64 + 2 * stream->encoder->track_map.count)
        return stream->track_count; /* tracks that appear together get consecutive numbers: sent as one run */
    uint32_t number = 0;
    while (number < stream->track_count && stream->tracks[number])
        number++;
    return number;
}

static enum err add_track(struct delta_stream *stream, uint32_t set_number, const struct sample *sample,
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
    err = map_add(&encoder->track_map, hash_of_track(*added), *added, STREAM_TRACKS_MAX);
    if (!err)
        err = encoder_list_add(&encoder->new_tracks, number);
    if (!err)
        return OK;
    forget_track(encoder, *added);
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
    track = encoder_find_track(encoder, set_number, sample->instance, sample->job);
    if (!track)
        return add_track(stream, set_number, sample, found);
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
        forget_track(encoder, track);
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
        forget_track(encoder, track);
        stream_drop_track(stream, track);
    }
    for (size_t i = 0; i < encoder->dropped_sets.count; i++)
        stream_drop_set(stream, encoder->dropped_sets.list[i]);
    for (size_t i = 0; i < encoder->dropped_jobs.count; i++)
        stream_drop_job(stream, encoder->dropped_jobs.list[i]);
}

void encoder_reset(struct encoder_state *encoder)
{
    encoder->has_map = false; /* rebuilt at the next record */
    map_reset(&encoder->track_map);
}

size_t encoder_memory(const struct encoder_state *encoder)
{
    return sizeof *encoder + encoder->track_map.slot_count * sizeof(struct map_slot)
        + encoder->track_capacity * sizeof(struct delta_track *)
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
    map_clear(&b->track_map);
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
