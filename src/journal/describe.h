/* Descriptions of sets, tracks and jobs as bytes: the same in a record, when they are new, and in a snapshot. */
#ifndef SONDE_JOURNAL_DESCRIBE_H
#define SONDE_JOURNAL_DESCRIBE_H

#include "model/pack.h"
#include "journal/stream_state.h"

/* The packer needs a capacity of the weights of stream_state.h plus 16 bytes. */
void describe_set(struct packer *p, uint32_t number, const struct set *set);
void describe_set_shared(struct packer *p, uint32_t number, struct stream_set *set); /* compressed if many streams have it */
void describe_track(struct packer *p, const struct delta_track *track);
void describe_job(struct packer *p, uint32_t number, const struct job *job);

/* Reads a description into the tables of the stream. CORRUPT, FULL, NOMEM. */
enum err describe_read_set(struct unpacker *u, struct delta_stream *stream);
enum err describe_read_set_shared(struct unpacker *u, struct delta_stream *stream);
enum err describe_read_track(struct unpacker *u, struct delta_stream *stream, struct delta_track **track);
enum err describe_read_job(struct unpacker *u, struct delta_stream *stream);

#endif
