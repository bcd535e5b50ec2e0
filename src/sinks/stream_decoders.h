/* The streams of a journal as one reader of it has them: a decoder for each, made from the states that it meets. Entries go
 * in, batches come out. */
#ifndef SONDE_SINKS_STREAM_DECODERS_H
#define SONDE_SINKS_STREAM_DECODERS_H

#include "model/batch.h"
#include "journal/journal.h"

struct channels;

enum err channels_new(struct channels **channels);
void channels_free(struct channels **channels);
void channels_reset(struct channels *channels); /* forgets all, as for a reader that begins anew */

/* Takes an entry. *batch is what is new in it, NULL when there is nothing to pass on: a state, or what the reader was behind
 * already. It is borrowed until the next call. CORRUPT: the record cannot be read, and nor can what follows of its stream
 * until a state comes; NOMEM. */
enum err channels_take(struct channels *channels, const struct journal_entry *entry, const struct batch **batch);

/* Called with the segment of each entry, before it is taken: streams that were in none of a whole segment are forgotten. */
void channels_enter(struct channels *channels, uint64_t segment);

size_t channels_count(const struct channels *channels);

#endif
