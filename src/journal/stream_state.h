/* State of a delta-coded stream, for the codec only: the sets, tracks and jobs known to both ends, each under a number
 * chosen by the encoder and sent in the records. Functions that add do not check counts: callers check the limits
 * first. */
#ifndef SONDE_JOURNAL_STREAM_STATE_H
#define SONDE_JOURNAL_STREAM_STATE_H

#include "journal/stream.h"

#define STREAM_NONE UINT32_MAX

/* The first byte of a record: which sections follow, in this order. */
enum stream_section {
    STREAM_HAS_SETS = 1,
    STREAM_HAS_TRACKS = 2,
    STREAM_HAS_JOBS = 4,
    STREAM_HAS_EVENTS = 8,
    STREAM_HAS_GAPS = 16,
    STREAM_HAS_SAMPLES = 32,
    STREAM_HAS_CHANGES = 64, /* what is dropped, and which values are linked from now on */
    STREAM_IS_OTHER = 128, /* not sections but another kind of record: */
    STREAM_IS_PIECE = 129, /* a piece of a run's spool */
};

struct delta_track;

/* A set of the stream; .set NULL: the number is free. */
struct stream_set {
    const struct set *set; /* from the pool */
    struct delta_track *first, *last;
    struct bytes packed;   /* compressed form used in snapshots; empty: written uncompressed */
    /* used by the encoder only: */
    const struct set *source; /* address of the sampler's set, and the record in which its names were last compared */
    uint64_t checked;
    bool was_idle; /* had no track at the last sweep */
};

/* One set, instance and job with its newest values. Arrays and strings follow it in the same allocation. */
struct delta_track {
    const struct set *set;
    const char *instance, *job; /* job NULL: the node */
    union value *values;        /* unknown values keep their last known number */
    uint8_t *known;
    uint8_t *sizes, *units;     /* one per value: see journal/delta.h */
    uint16_t *links;            /* one per value: STREAM_LINK, if its size has SIZE_LINKED */
    uint64_t time_ns;
    uint64_t interval_ns;       /* for display only, not in snapshots; 0: unknown yet */
    uint32_t number, set_number;
    uint8_t time_size;
    struct delta_track *before, *after; /* in the list of the set's tracks */
    /* the current record: */
    uint64_t epoch;            /* last record that had a sample of it */
    const union value *deltas; /* change of each value in that record */
    uint32_t sample;           /* index of its newest sample there */
    /* used by the encoder only: */
    struct link_guess *link_guesses; /* one per value; NULL: none yet */
    uint32_t follower;
    uint64_t last_record; /* last record that had a sample of it */
};

#define STREAM_VALUE_BYTES (sizeof(union value) + sizeof(uint16_t) + 3) /* of a track, per value */

/* A link: the value is predicted to change like another value of the same record, whose track number is lower by 0 to
 * 15. */
#define STREAM_LINK(tracks_before, value) ((uint16_t)((tracks_before) << 12 | (value)))
#define STREAM_LINK_TRACKS 16u

/* The encoder's search for links: a candidate, how often it was right, and how often an existing link was wrong. */
struct link_guess {
    uint16_t link;
    uint8_t score, misses;
};

struct stream_job {
    struct job job; /* its strings follow */
    struct stream_job *next; /* in the list of dropped jobs */
};

/* Working state of the encoder (journal/encoder_state.h). */
struct encoder_state;

struct delta_stream {
    /* Tables by number; count is one more than the largest number in use. */
    struct stream_set *sets;
    uint32_t set_count;
    size_t set_capacity;
    struct delta_track **tracks;
    uint32_t track_count;
    size_t track_capacity;
    struct stream_job **jobs;
    uint32_t job_count;
    size_t job_capacity;
    size_t values, weight; /* values of all tracks; size of all descriptions */
    uint64_t time_ns;      /* first sample of the last record that had samples */
    uint64_t step_ns;      /* interval from the one before */
    uint64_t newest_ns;
    uint64_t epoch; /* counts records, separately on each side */

    /* dropped by the last record, but kept until the next one because its batch points to them */
    struct delta_track *dropped_tracks;
    const struct set **dropped_sets; /* set_capacity of them */
    uint32_t dropped_set_count;
    struct stream_job *dropped_jobs;

    struct delta_track **decoded_tracks; /* one per sample of the record being decoded */
    size_t decoded_capacity;

    /* what a decoded batch points to */
    const struct job **job_list; /* current jobs, then (for the batch) dropped ones */
    size_t job_list_count, job_list_capacity;
    struct batch_event *events;
    size_t event_capacity;
    struct batch_gap *gaps;
    size_t gap_capacity;
    struct batch_piece piece;
    struct buf strings; /* reasons of gaps */

    struct encoder_state *encoder; /* NULL until something is encoded */
};

#define STREAM_JOBS_MAX 4096u
#define STREAM_SAMPLES_MAX (2 * STREAM_TRACKS_MAX) /* per record */
#define STREAM_GAPS_MAX 4096u                       /* per record; events too */
#define STREAM_WEIGHT_MAX (4u << 20) /* limit of all descriptions, so that a snapshot fits into a message */

size_t stream_set_weight(const struct set *set);
size_t stream_track_weight(const char *instance, const char *job);
size_t stream_job_weight(const struct job *job);

/* Adds at a free number. Takes ownership of set, which is from the pool, and releases it on error. */
enum err stream_add_set(struct delta_stream *stream, uint32_t number, const struct set *set);
enum err stream_add_track(struct delta_stream *stream, uint32_t number, uint32_t set_number, struct bytes instance,
                          const struct bytes *job, struct delta_track **put);

static inline void stream_set_link(struct delta_track *track, size_t value, uint16_t link, bool is_made)
{
    track->links[value] = is_made ? link : 0;
    track->sizes[value] = (uint8_t)(is_made ? track->sizes[value] | 128 : track->sizes[value] & 127);
}

/* Copies the strings and omits what only the node needs. NULL: out of memory. */
struct stream_job *stream_job_copy(const struct job *job);

/* Capacity for that number; then stores the result of stream_job_copy there, replacing the old job. */
enum err stream_reserve_job(struct delta_stream *stream, uint32_t number);
void stream_set_job_take(struct delta_stream *stream, uint32_t number, struct stream_job *job);
void stream_list_jobs(struct delta_stream *stream); /* fills job_list, which must have the capacity */

/* Removes from the tables; the memory stays valid until stream_free_dropped. A set must have no tracks. */
void stream_drop_set(struct delta_stream *stream, uint32_t number);
void stream_drop_track(struct delta_stream *stream, struct delta_track *track);
void stream_drop_job(struct delta_stream *stream, uint32_t number);
void stream_free_dropped(struct delta_stream *stream);

void stream_clear(struct delta_stream *stream); /* empties it but keeps the allocated memory */
void encoder_free(struct encoder_state **encoder);
size_t encoder_memory(const struct encoder_state *encoder);
void encoder_reset(struct encoder_state *encoder);

static inline struct delta_track *stream_track_at(const struct delta_stream *stream, uint64_t number)
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
