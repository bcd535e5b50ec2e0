/* The encoder's workbench: finds the set, track and job of everything in a batch, and notes what is new and what goes. Kept
 * between records, so that a warm encoder allocates nothing. */
#ifndef SONDE_WIRE_STREAM_BENCH_H
#define SONDE_WIRE_STREAM_BENCH_H

#include "wire/stream_state.h"

struct bench_numbers {
    uint32_t *list;
    size_t count, room;
};

struct bench_job {
    struct stream_job *job; /* owned until it is put into the stream */
    uint32_t number;
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
enum err bench_samples(struct stream *stream, const struct batch *batch); /* stream_bench.c */
enum err bench_jobs(struct stream *stream, const struct batch *batch);    /* stream_bench_jobs.c */
enum err bench_sweep(struct stream *stream, const struct batch *batch);   /* what goes: of ended jobs, and what is stale */
void bench_undo(struct stream *stream);     /* the state is as before bench_begin */
void bench_put_jobs(struct stream *stream); /* the new ones, into the state */
void bench_drop(struct stream *stream);     /* what goes, out of it */

enum err bench_note(struct bench_numbers *numbers, uint32_t number);

#endif
