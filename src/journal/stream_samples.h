/* The samples of a record: which tracks, when, and what changed in their values. */
#ifndef SONDE_JOURNAL_STREAM_SAMPLES_H
#define SONDE_JOURNAL_STREAM_SAMPLES_H

#include "model/pack.h"
#include "journal/delta.h"
#include "journal/encoder_state.h"

#define SAMPLES_RUN_ORDER 3 /* of the Exp-Golomb code of runs of quiet values */

/* The most that samples of these numbers can take. */
size_t samples_room(size_t samples, size_t values);

/* Writes the samples of batch, bench->tracks[i] being that of sample i, and moves their tracks on. There is room, and
 * bench_room_for_samples was called. Notes links that are worth to be made or given up. */
void samples_encode(struct stream *stream, const struct batch *batch, struct packer *p);

/* Adds them to out and moves their tracks on. */
enum err samples_decode(struct stream *stream, struct unpacker *u, struct batch *out);

/* When the first sample of a record is expected: one step behind that of the last, which is taken in whole milliseconds,
 * since ticks come at round times and only their jitter does not. Of another: as far behind the one before as last time. */
static inline uint64_t samples_expected_ns(const struct stream *stream, const struct track *track, const struct track *before,
                                           uint64_t before_last_ns)
{
    if (before)
        return before->time_ns + (track->time_ns - before_last_ns);
    return stream->time_ns + (stream->step_ns + 500000) / 1000000 * 1000000;
}

static inline void samples_move_time(struct stream *stream, struct track *track, bool is_first, uint64_t time_ns)
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

/* By how much value i should change when it moves as the one that it is linked with did in this record; 0 where that one was
 * not in it. In steps of the units of each. */
static inline uint64_t samples_predict(const struct stream *stream, const struct track *track, size_t i)
{
    uint32_t before = track->links[i] >> 12, from = track->links[i] & 0xfff;
    const struct track *other = before <= track->number ? stream_track_at(stream, track->number - before) : NULL;
    if (!other || other->epoch != stream->epoch || from >= other->set->size || other->units[from] & UNIT_IS_REAL
        || (other == track && from >= i))
        return 0;
    return (uint64_t)unit_times(unit_steps(other->deltas[from].i64, other->units[from]), track->units[i]);
}

static inline void samples_keep_size(uint8_t *size, unsigned now)
{
    *size = (uint8_t)((*size & SIZE_LINKED) | (now < SIZE_CLIP ? now : SIZE_CLIP));
}

static inline void samples_keep_unit(uint8_t *unit, unsigned now)
{
    *unit = (uint8_t)((*unit & ~UNIT_MASK) | now);
}

/* Behind each change of a whole number. Whether it did change is asked last: that cannot be foretold. */
static inline void samples_settle_unit(struct track *track, size_t i, uint64_t last, uint64_t now, bool has_escaped)
{
    if ((has_escaped || (last == 0 && (track->units[i] & UNIT_MASK) == UNIT_ONE)) && now != last)
        samples_keep_unit(&track->units[i], unit_find(now, (int64_t)(now - last)));
}

static inline void samples_settle_form(struct track *track, size_t i, double now, bool has_escaped)
{
    if (has_escaped || (track->units[i] & UNIT_MASK) == FORM_BITS)
        samples_keep_unit(&track->units[i], form_find(now));
}

#define SAMPLES_EIGHT_KNOWN 0x0101010101010101ull

/* All of these eight are known, quiet and not linked. */
static inline bool samples_eight_quiet(const struct track *track, size_t i)
{
    uint64_t sizes, known;
    memcpy(&sizes, track->sizes + i, 8);
    memcpy(&known, track->known + i, 8);
    return sizes == 0 && known == SAMPLES_EIGHT_KNOWN;
}

#endif
