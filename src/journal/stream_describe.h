/* Descriptions of sets, tracks and jobs as bytes: the same in a record, when they are new, and in a snapshot. */
#ifndef SONDE_JOURNAL_STREAM_DESCRIBE_H
#define SONDE_JOURNAL_STREAM_DESCRIBE_H

#include "model/pack.h"
#include "journal/stream_state.h"

/* A packer has room when the weights of stream_state.h, and 16 bytes more, were reserved for it. */
void describe_set(struct packer *p, uint32_t number, const struct set *set);
void describe_set_shared(struct packer *p, uint32_t number, struct stream_set *set); /* compressed, where many have it */
void describe_track(struct packer *p, const struct track *track);
void describe_job(struct packer *p, uint32_t number, const struct job *job);

/* Into the tables of the stream. CORRUPT, FULL, NOMEM. */
enum err describe_read_set(struct unpacker *u, struct stream *stream);
enum err describe_read_set_shared(struct unpacker *u, struct stream *stream);
enum err describe_read_track(struct unpacker *u, struct stream *stream, struct track **track);
enum err describe_read_job(struct unpacker *u, struct stream *stream);

#endif
