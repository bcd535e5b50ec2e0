/* Turns the entries that one reader gets from a journal into batches. A journal interleaves the delta-coded streams
 * of many hosts; there is one decoder per stream, which starts at the first snapshot that the reader meets. */
#ifndef SONDE_SINKS_STREAM_DECODERS_H
#define SONDE_SINKS_STREAM_DECODERS_H

#include "model/batch.h"
#include "journal/journal.h"

struct stream_decoders;

enum err stream_decoders_new(struct stream_decoders **decoders);
void stream_decoders_free(struct stream_decoders **decoders);
void stream_decoders_reset(struct stream_decoders *decoders); /* for a reader that starts again from another position */

/* Decodes an entry. *batch gets its content, borrowed until the next call, or NULL if there is nothing to deliver: a
 * snapshot, or a record before the reader's position. CORRUPT: the record cannot be decoded, nor can the following
 * ones of its stream until the next snapshot. NOMEM. */
enum err stream_decoders_decode(struct stream_decoders *decoders, const struct journal_entry *entry, const struct batch **batch);

/* Call with the journal segment of each entry before decoding it: decoders of streams that had no entry in a whole
 * segment are freed. Each segment starts with snapshots of its live streams. */
void stream_decoders_enter_segment(struct stream_decoders *decoders, uint64_t segment);

size_t stream_decoders_count(const struct stream_decoders *decoders);

#endif
