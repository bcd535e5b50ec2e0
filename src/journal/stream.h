/* A delta-coded stream: the batches of one host as a sequence of byte records. Encoder and decoder keep the same state
 * (the sets, tracks and jobs seen so far and the newest value of each metric), so a record contains only what changed:
 * the delta. Encoding or decoding a record moves the state forward. A snapshot is the whole state as bytes: a decoder
 * that starts in the middle of a stream restores a snapshot first, then applies the records after it. The bytes are
 * defined in docs/wire.md.
 * A track is one set, instance and job: the series of samples that share a delta state. */
#ifndef SONDE_JOURNAL_STREAM_H
#define SONDE_JOURNAL_STREAM_H

#include "base/buf.h"
#include "model/batch.h"

#define STREAM_SETS_MAX 4096u      /* per stream, to bound the memory that a peer can make us use */
#define STREAM_TRACKS_MAX 65536u   /* sets × instances × jobs */
#define STREAM_VALUES_MAX (1u << 19) /* chosen so that the largest snapshot is smaller than STREAM_RECORD_MAX */
#define STREAM_STRING_MAX 4096u
#define STREAM_RECORD_MAX (16u << 20)
#define STREAM_PIECE_MAX (1u << 20) /* bytes of a run's spool in one record */

struct delta_stream;

enum err stream_new(struct delta_stream **stream);
void stream_free(struct delta_stream **stream);

/* Appends the record of batch to out: samples, jobs and their events, gaps; or a piece of a run alone. New sets, tracks
 * and jobs are described in the record itself. batch->jobs must be all jobs of the host if the batch has events and may
 * be NULL otherwise: the known jobs continue. On an error the state is unchanged, and out may contain garbage after its
 * old end. Does not allocate in the steady state. FULL: one of the limits is exceeded. */
enum err stream_encode(struct delta_stream *stream, const struct batch *batch, struct buf *out);

/* Decodes a record into a batch, whose host, stream and sequence are not touched. What out points to belongs to the
 * stream and is valid until the next call. CORRUPT: the bytes are invalid after the records before; the state is
 * unusable and must be freed or restored. FULL: one of the limits is exceeded; the same applies. */
enum err stream_decode(struct delta_stream *stream, struct bytes record, struct batch *out);

/* Appends the state to out as a snapshot; restores it from one. CORRUPT, FULL, NOMEM: the state is empty then. */
void stream_snapshot(const struct delta_stream *stream, struct buf *out);
enum err stream_restore(struct delta_stream *stream, struct bytes snapshot);

/* Iterates over the current state: the newest values of each track, grouped by set, and the jobs. *at starts as 0;
 * returns false at the end. Borrowed until the next call that changes the stream. */
struct stream_track {
    const struct set *set;
    const char *instance; /* "": the set has only one */
    const char *job;      /* NULL: the node itself */
    const union value *values;
    const uint8_t *known;
    uint64_t time_ns;
    uint64_t interval_ns; /* between its two newest samples; 0: unknown */
};
bool stream_next(const struct delta_stream *stream, size_t *at, struct stream_track *track);
size_t stream_jobs(const struct delta_stream *stream, const struct job *const **jobs);

uint64_t stream_time_ns(const struct delta_stream *stream); /* of the newest sample; 0: none yet */
size_t stream_memory(const struct delta_stream *stream);    /* bytes allocated */

#endif
