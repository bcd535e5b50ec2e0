/* The samples of a record: which tracks, when, and what changed in their values. */
#ifndef SONDE_WIRE_STREAM_SAMPLES_H
#define SONDE_WIRE_STREAM_SAMPLES_H

#include "wire/pack.h"
#include "wire/stream_state.h"

/* The most that samples of these numbers can take. */
size_t samples_room(size_t samples, size_t values);

/* Writes the samples of batch, tracks[i] being that of sample i, and moves their tracks on. There is room. */
void samples_encode(struct stream *stream, const struct batch *batch, struct track *const *tracks, struct packer *p);

/* Adds them to out and moves their tracks on. */
enum err samples_decode(struct stream *stream, struct unpacker *u, struct batch *out);

#endif
