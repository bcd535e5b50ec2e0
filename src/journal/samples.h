/* The samples section of a record: which tracks have a sample, its time, and how their values changed. A value is quiet
 * when its last change was 0; runs of quiet values that stay unchanged are sent as one number. */
#ifndef SONDE_JOURNAL_SAMPLES_H
#define SONDE_JOURNAL_SAMPLES_H

#include "model/pack.h"
#include "journal/delta.h"
#include "journal/encoder_state.h"

#define SAMPLES_RUN_ORDER 3 /* order of the Exp-Golomb code for run lengths */

/* Upper bound of the encoded size. */
size_t samples_size_max(size_t samples, size_t values);

/* Writes the samples of batch; encoder->tracks[i] is the track of sample i. Moves the state of the tracks forward. The
 * packer and the encoder's items have the capacity. Collects links that are worth making or removing. */
void samples_encode(struct delta_stream *stream, const struct batch *batch, struct packer *p);

/* Appends the samples to out and moves the state of their tracks forward. */
enum err samples_decode(struct delta_stream *stream, struct unpacker *u, struct batch *out);

/* The predicted time of a sample. The first of a record: one interval after the first of the last record, rounded to
 * milliseconds because ticks are at round times and only jitter moves them. Any other: as long after the previous
 * sample as last time. */
static inline uint64_t samples_expected_ns(const struct delta_stream *stream, const struct delta_track *track,
                                           const struct delta_track *before, uint64_t before_last_ns)
{
    if (before)
        return before->time_ns + (track->time_ns - before_last_ns);
    return stream->time_ns + (stream->step_ns + 500000) / 1000000 * 1000000;
}

static inline void samples_move_time(struct delta_stream *stream, struct delta_track *track, bool is_first, uint64_t time_ns)
{
    if (track->time_ns && time_ns > track->time_ns)
        track->interval_ns = time_ns - track->time_ns;
    track->time_ns = time_ns;
    if (time_ns > stream->newest_ns)
        stream->newest_ns = time_ns;
    if (!is_first)
        return;
    stream->step_ns = stream->time_ns ? time_ns - stream->time_ns : 0;
    stream->time_ns = time_ns;
}

/* The predicted change of value i: the change in this record of the value it is linked to, converted between their
 * units; 0 if that one is not in the record. */
static inline uint64_t samples_predict(const struct delta_stream *stream, const struct delta_track *track, size_t i)
{
    uint32_t before = track->links[i] >> 12, from = track->links[i] & 0xfff;
    const struct delta_track *other = before <= track->number ? stream_track_at(stream, track->number - before) : NULL;
    if (!other || other->epoch != stream->epoch || from >= other->set->size || other->units[from] & UNIT_IS_REAL
        || (other == track && from >= i))
        return 0;
    return (uint64_t)delta_unit_times(delta_unit_steps(other->deltas[from].i64, other->units[from]), track->units[i]);
}

static inline void samples_keep_size(uint8_t *size, unsigned now)
{
    *size = (uint8_t)((*size & SIZE_LINKED) | (now < SIZE_CLIP ? now : SIZE_CLIP));
}

static inline void samples_keep_unit(uint8_t *unit, unsigned now)
{
    *unit = (uint8_t)((*unit & ~UNIT_MASK) | now);
}

/* Chooses the unit for the next change of an integer. The comparison that the CPU cannot predict comes last. */
static inline void samples_settle_unit(struct delta_track *track, size_t i, uint64_t last, uint64_t now, bool has_escaped)
{
    if ((has_escaped || (last == 0 && (track->units[i] & UNIT_MASK) == UNIT_ONE)) && now != last)
        samples_keep_unit(&track->units[i], delta_find_unit(now, (int64_t)(now - last)));
}

static inline void samples_settle_form(struct delta_track *track, size_t i, double now, bool has_escaped)
{
    if (has_escaped || (track->units[i] & UNIT_MASK) == FORM_BITS)
        samples_keep_unit(&track->units[i], delta_find_form(now));
}

#define SAMPLES_EIGHT_KNOWN 0x0101010101010101ull

/* Are these eight values all known, quiet and not linked? */
static inline bool samples_eight_quiet(const struct delta_track *track, size_t i)
{
    uint64_t sizes, known;
    memcpy(&sizes, track->sizes + i, 8);
    memcpy(&known, track->known + i, 8);
    return sizes == 0 && known == SAMPLES_EIGHT_KNOWN;
}

#endif
