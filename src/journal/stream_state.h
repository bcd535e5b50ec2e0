/* The inside of a stream, for wire/stream*.c: the sets, tracks and jobs that both ends hold, each under a number that the
 * encoder chose and the records tell. Nothing here is decided: whoever adds has looked at the limits of stream_room. */
#ifndef SONDE_JOURNAL_STREAM_STATE_H
#define SONDE_JOURNAL_STREAM_STATE_H

#include "journal/stream.h"

#define STREAM_NONE UINT32_MAX

/* The first byte of a record says which sections follow, in this order. */
enum stream_section {
    STREAM_HAS_SETS = 1,
    STREAM_HAS_TRACKS = 2,
    STREAM_HAS_JOBS = 4,
    STREAM_HAS_EVENTS = 8,
    STREAM_HAS_GAPS = 16,
    STREAM_HAS_SAMPLES = 32,
    STREAM_HAS_CHANGES = 64, /* what goes, and which values are linked from now on */
    STREAM_IS_OTHER = 128, /* another form of record: */
    STREAM_IS_PIECE = 129, /* a piece of a run's spool, without sections */
};

struct track;

/* A set of the stream; .set NULL: the number is free. */
struct stream_set {
    const struct set *set; /* of the pool */
    struct track *first, *last;
    struct bytes packed;   /* how it is written into snapshots; empty: as it is */
    /* of the encoder: */
    const struct set *met; /* where the set was when it was met last, and the record for which its texts were looked through */
    uint64_t checked;
    bool was_idle; /* no track at the last sweep */
};

/* One set, instance and job, with the newest values. Its arrays and texts stand behind it in the same allocation. */
struct track {
    const struct set *set;
    const char *instance, *job; /* job NULL: the node */
    union value *values;        /* of what is not known: the last that was */
    uint8_t *known;
    uint8_t *sizes, *units;     /* of each value: see journal/delta.h */
    uint16_t *links;            /* of each value: STREAM_LINK, where its size says that it is linked */
    uint64_t time_ns;
    uint64_t interval_ns;       /* for people only: it is in no snapshot; 0: not known yet */
    uint32_t number, set_number;
    uint8_t time_size;
    struct track *before, *after; /* of the same set */
    /* of the record that is at work: */
    uint64_t epoch;            /* in which record it was last */
    const union value *deltas; /* by how much its values have changed in it */
    uint32_t sample;           /* its newest there */
    /* of the encoder: */
    struct track_guess *guesses; /* of each value; NULL: none yet */
    struct track *chain; /* in the bucket */
    uint32_t hash, follower;
    uint64_t met; /* record in which it was last */
};

#define STREAM_VALUE_BYTES (sizeof(union value) + sizeof(uint16_t) + 3) /* of a track, for each value */

/* A link: the value is expected to move as another one of this record does, that of a track whose number is less by 0…15. */
#define STREAM_LINK(tracks_before, value) ((uint16_t)((tracks_before) << 12 | (value)))
#define STREAM_LINK_TRACKS 16u

/* What the encoder thinks of a value: which other moves as it does, and how sure it is. */
struct track_guess {
    uint16_t link;
    uint8_t score, debt;
};

struct stream_job {
    struct job job; /* texts stand behind it */
    struct stream_job *next; /* of those that are gone */
};

/* What the encoder works with while it makes a record; kept between records. */
struct stream_bench;

struct stream {
    /* by number; count: one more than the largest that was used */
    struct stream_set *sets;
    uint32_t set_count;
    size_t set_room;
    struct track **tracks;
    uint32_t track_count;
    size_t track_room;
    struct stream_job **jobs;
    uint32_t job_count;
    size_t job_room;
    size_t values, weight; /* of all tracks; of all texts */
    uint64_t time_ns;      /* of the first sample of the last record that had any */
    uint64_t step_ns;      /* since the one before */
    uint64_t newest_ns;
    uint64_t epoch; /* counts records, on each side for itself */

    /* what the last record gave away and no longer holds: kept for whoever has the batch */
    struct track *gone_tracks;
    const struct set **gone_sets; /* set_room of them */
    uint32_t gone_set_count;
    struct stream_job *gone_jobs;

    struct track **heard; /* of each sample of the record that is being decoded */
    size_t heard_room;

    /* what a decoded batch points to */
    const struct job **job_list; /* those held, then (for the batch) those that are gone */
    size_t job_list_count, job_list_room;
    struct batch_event *events;
    size_t event_room;
    struct batch_gap *gaps;
    size_t gap_room;
    struct batch_piece piece;
    struct buf texts; /* reasons of gaps */

    struct stream_bench *bench; /* NULL until something is encoded */
};

#define STREAM_JOBS_MAX 4096u
#define STREAM_SAMPLES_MAX (2 * STREAM_TRACKS_MAX) /* of one record */
#define STREAM_GAPS_MAX 4096u                       /* of one record; events too */
#define STREAM_WEIGHT_MAX (4u << 20) /* of all texts, and 16 for each metric: what makes a snapshot fit into a message */

size_t stream_set_weight(const struct set *set);
size_t stream_track_weight(const char *instance, const char *job);
size_t stream_job_weight(const struct job *job);

/* Under a number that is free. Takes over set, which is of the pool; on an error it is released. */
enum err stream_put_set(struct stream *stream, uint32_t number, const struct set *set);
enum err stream_put_track(struct stream *stream, uint32_t number, uint32_t set_number, struct bytes instance,
                          const struct bytes *job, struct track **put);

static inline void stream_put_link(struct track *track, size_t value, uint16_t link, bool is_made)
{
    track->links[value] = is_made ? link : 0;
    track->sizes[value] = (uint8_t)(is_made ? track->sizes[value] | 128 : track->sizes[value] & 127);
}

/* Texts are copied, what only the node needs is left out. NULL: memory ran out. */
struct stream_job *stream_job_copy(const struct job *job);

/* Room for that number; puts there what stream_job_copy made, in place of what was there. */
enum err stream_job_room(struct stream *stream, uint32_t number);
void stream_put_job_take(struct stream *stream, uint32_t number, struct stream_job *job);
void stream_list_jobs(struct stream *stream); /* fills job_list, for which there is room */

/* Out of the tables; what they point to stays until stream_forget_gone. A set must have no track. */
void stream_drop_set(struct stream *stream, uint32_t number);
void stream_drop_track(struct stream *stream, struct track *track);
void stream_drop_job(struct stream *stream, uint32_t number);
void stream_forget_gone(struct stream *stream);

void stream_empty(struct stream *stream); /* as new; keeps what is only memory */
void stream_bench_free(struct stream_bench **bench); /* stream_encode.c */
size_t stream_bench_memory(const struct stream_bench *bench);
void stream_bench_reset(struct stream_bench *bench);

/* Gives *array room for count elements of size bytes; new ones are zeroed. NOMEM: it is as it was. */
enum err stream_grow(void *array, size_t *room, size_t count, size_t size);

static inline struct track *stream_track_at(const struct stream *stream, uint64_t number)
{
    return number < stream->track_count ? stream->tracks[number] : NULL;
}

static inline uint64_t stream_zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t stream_unzigzag(uint64_t folded)
{
    return folded >> 1 ^ -(folded & 1);
}

#endif
