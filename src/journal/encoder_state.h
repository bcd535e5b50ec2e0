/* Working state of the encoder: finds the set, track and job of everything in a batch and collects what is new and what
 * is dropped. Kept between records, so that the encoder allocates nothing once it has seen a few of them. */
#ifndef SONDE_JOURNAL_ENCODER_STATE_H
#define SONDE_JOURNAL_ENCODER_STATE_H

#include "base/map.h"
#include "journal/stream_state.h"

struct encoder_list {
    uint32_t *list;
    size_t count, capacity;
};

struct encoder_job {
    struct stream_job *job; /* owned until encoder_commit_jobs */
    uint32_t number;
};

/* What the samples of a record consist of, in the order in which it is written. */
enum encoder_item_kind {
    ITEM_RUN,   /* bits: number of values in a run of unchanged ones */
    ITEM_VALUE, /* bits: the coded difference from the prediction, size bits long; last is the previous size */
    ITEM_BITS,  /* size bits, written as they are */
};

struct encoder_item {
    uint64_t bits;
    uint8_t size, last, kind;
};

/* Changes seen in this record, by a hash of their steps: used to find values that change by the same amount. */
#define ENCODER_CHANGES_BITS 8
struct encoder_change {
    uint64_t record;
    int64_t steps;
    uint32_t track, value;
};

#define ENCODER_LINKS_MAX 16 /* links made or removed in one record */
struct encoder_link {
    uint32_t track;
    uint16_t value, link;
    bool is_made;
};

struct encoder_state {
    uint64_t record;      /* number of this record, from 1 */
    struct map track_map; /* tracks by set, instance and job */
    bool has_map;         /* it has all tracks of the stream */

    /* The record being encoded: */
    struct delta_track **tracks; /* one per sample */
    size_t track_capacity, values;
    struct encoder_list new_sets, new_tracks, dropped_tracks, dropped_sets, dropped_jobs;
    struct encoder_item *items;
    size_t item_count, item_capacity, open_run;
    union value *deltas; /* differences of all values of the record */
    size_t delta_capacity;
    struct encoder_change changes[1 << ENCODER_CHANGES_BITS];
    bool seeks_links;
    struct encoder_link new_links[ENCODER_LINKS_MAX];
    size_t link_count;
    struct encoder_job *new_jobs;
    size_t new_job_count, new_job_capacity;
    uint32_t *job_numbers; /* number of each job of the batch */
    size_t job_number_capacity;
    uint32_t *event_jobs; /* number of each event's job */
    size_t event_job_capacity;
    uint8_t *job_met; /* by job number: it is in this batch */
    size_t job_met_capacity;
};

enum err encoder_begin(struct delta_stream *stream);
enum err encoder_add_samples(struct delta_stream *stream, const struct batch *batch); /* in encoder_state.c */
enum err encoder_add_jobs(struct delta_stream *stream, const struct batch *batch);    /* in encoder_jobs.c */
enum err encoder_find_stale(struct delta_stream *stream, const struct batch *batch);   /* tracks of ended jobs and stale ones */
struct delta_track *encoder_find_track(const struct encoder_state *encoder, uint32_t set_number, const char *instance,
                                       const char *job);
void encoder_undo(struct delta_stream *stream);         /* restores the state before encoder_begin */
void encoder_commit_jobs(struct delta_stream *stream);  /* adds the new jobs to the stream */
void encoder_commit_drops(struct delta_stream *stream); /* removes what is dropped */

void encoder_commit_links(struct delta_stream *stream);
enum err encoder_list_add(struct encoder_list *numbers, uint32_t number);

#endif
