/* The encoder's workbench: finds the set, track and job of everything in a batch, and notes what is new and what goes. Kept
 * between records, so that a warm encoder allocates nothing. */
#ifndef SONDE_JOURNAL_ENCODER_STATE_H
#define SONDE_JOURNAL_ENCODER_STATE_H

#include "journal/stream_state.h"

struct bench_numbers {
    uint32_t *list;
    size_t count, room;
};

struct bench_job {
    struct stream_job *job; /* owned until it is put into the stream */
    uint32_t number;
};

/* What is to be written of the samples, in order. */
enum bench_sort {
    BENCH_RUN,   /* bits: how many quiet values stand still */
    BENCH_VALUE, /* bits: a residual of size bits, whose last size was last */
    BENCH_BITS,  /* size bits as they are */
};

struct bench_item {
    uint64_t bits;
    uint8_t size, last, sort;
};

/* A change of so many steps was met in this record. */
#define BENCH_SEEN_BITS 8
struct bench_seen {
    uint64_t record;
    int64_t steps;
    uint32_t track, value;
};

#define BENCH_LINKS 16 /* made or given up in one record */
struct bench_link {
    uint32_t track;
    uint16_t value, link;
    bool is_made;
};

struct stream_bench {
    uint64_t record; /* counts them, from 1 */
    struct track **buckets; /* of tracks, by hash; a power of two */
    size_t bucket_count, chained;
    size_t bucket_room;

    /* of the record that is being made: */
    struct track **tracks; /* of each sample */
    size_t track_room, values;
    struct bench_numbers new_sets, new_tracks, gone_tracks, gone_sets, gone_jobs;
    struct bench_item *items;
    size_t item_count, item_room, open_run;
    union value *deltas; /* of all values of the record */
    size_t delta_room;
    struct bench_seen seen[1 << BENCH_SEEN_BITS];
    bool seeks_links;
    struct bench_link new_links[BENCH_LINKS];
    size_t link_count;
    struct bench_job *new_jobs;
    size_t new_job_count, new_job_room;
    uint32_t *job_numbers; /* of each job of the batch */
    size_t job_number_room;
    uint32_t *event_jobs; /* number of the job of each event */
    size_t event_job_room;
    uint8_t *job_met; /* by number: it is in the batch */
    size_t job_met_room;
};

enum err bench_begin(struct stream *stream);
enum err bench_samples(struct stream *stream, const struct batch *batch); /* encoder_state.c */
enum err bench_jobs(struct stream *stream, const struct batch *batch);    /* encoder_jobs.c */
enum err bench_sweep(struct stream *stream, const struct batch *batch);   /* what goes: of ended jobs, and what is stale */
struct track *bench_find_track(const struct stream_bench *bench, uint32_t set_number, const char *instance, const char *job);
void bench_undo(struct stream *stream);     /* the state is as before bench_begin */
void bench_put_jobs(struct stream *stream); /* the new ones, into the state */
void bench_drop(struct stream *stream);     /* what goes, out of it */

void bench_put_links(struct stream *stream);
enum err bench_note(struct bench_numbers *numbers, uint32_t number);

#endif
