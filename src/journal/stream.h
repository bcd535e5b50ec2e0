/* A stream: the batches of one host, one after another, as bytes. Both ends keep the same state (which sets there are, which
 * tracks, their newest values, which jobs), so that a batch is told by what changed. An encoder turns batches into records
 * and moves its state on; a decoder does the same with the records. A snapshot is a state as bytes: whoever begins in the
 * middle begins with one. The bytes are told in docs/wire.md. */
#ifndef SONDE_JOURNAL_STREAM_H
#define SONDE_JOURNAL_STREAM_H

#include "base/buf.h"
#include "model/batch.h"

#define STREAM_SETS_MAX 4096u      /* of one stream, so that nobody can make us hold more */
#define STREAM_TRACKS_MAX 65536u   /* sets × instances × jobs */
#define STREAM_VALUES_MAX (1u << 19) /* so that a snapshot of all is smaller than a record may be */
#define STREAM_TEXT_MAX 4096u
#define STREAM_RECORD_MAX (16u << 20)
#define STREAM_PIECE_MAX (1u << 20) /* bytes of a run's spool in one record */

struct stream;

enum err stream_new(struct stream **stream);
void stream_free(struct stream **stream);

/* Adds the record of batch to out: samples, jobs and their events, gaps; or a piece of a run alone. What is new in it (sets,
 * tracks, jobs) is described in the record itself. batch->jobs must be all jobs of the host when the batch has events, and may
 * be NULL otherwise: those that were told before go on. On an error the state is as it was, and out may hold rubbish behind
 * its old end. Allocates nothing once warm. FULL: over one of the limits. */
enum err stream_encode(struct stream *stream, const struct batch *batch, struct buf *out);

/* The batch of a record, host, stream and sequence left alone. What out points to belongs to the stream and is valid until
 * the next call on it. CORRUPT: the bytes make no sense after what came before; the state is then of no use and must be
 * freed or restored. FULL: over one of the limits; the same. */
enum err stream_decode(struct stream *stream, struct bytes record, struct batch *out);

/* Adds the state as bytes; the other way round. CORRUPT, FULL, NOMEM: the state is empty then. */
void stream_snapshot(const struct stream *stream, struct buf *out);
enum err stream_restore(struct stream *stream, struct bytes snapshot);

/* What is held now: the newest values of each track, those of one set in a row, and the jobs. *at is 0 at first; false at
 * the end. Borrowed until the next call that changes the stream. */
struct stream_track {
    const struct set *set;
    const char *instance; /* "" : there is but one */
    const char *job;      /* NULL: of the node */
    const union value *values;
    const uint8_t *known;
    uint64_t time_ns;
    uint64_t interval_ns; /* between its two newest samples; 0: not known */
};
bool stream_next(const struct stream *stream, size_t *at, struct stream_track *track);
size_t stream_jobs(const struct stream *stream, const struct job *const **jobs);

uint64_t stream_time_ns(const struct stream *stream); /* of the newest sample; 0: none yet */
size_t stream_memory(const struct stream *stream);    /* bytes that it takes */

#endif
