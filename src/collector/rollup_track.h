/* Aggregates the samples of one metric set: minimum, mean, maximum and last value of each metric, as a sample of
 * another set: "meminfo" becomes "meminfo_rollup", its "mem_free" becomes mem_free_min, mem_free_mean, mem_free_max,
 * mem_free_last. */
#ifndef SONDE_COLLECTOR_ROLLUP_TRACK_H
#define SONDE_COLLECTOR_ROLLUP_TRACK_H

#include "model/batch.h"

#define ROLLUP_PARTS 4 /* min, mean, max, last */

/* A set and its rollup set. Freed after all its tracks. */
struct rollup_set {
    struct rollup_set *next;
    struct set *source; /* a copy */
    struct set *rolled;
};

void rollup_sets_clear(struct rollup_set **list);

struct rollup_value {
    union value min, max, last;
    double sum;
    uint64_t count; /* 0: none was known */
};

/* One set, instance and job. */
struct rollup_track {
    struct rollup_track *next;
    const struct rollup_set *set;
    const struct set *seen_set;        /* address of the set at its last sample, for a quick comparison */
    char *instance, *job;         /* job NULL: of the node */
    uint64_t samples;             /* in this window */
    struct rollup_value values[]; /* of set->source */
};

/* In the order of the samples, which is the same at each tick. */
struct rollup_tracks {
    struct rollup_track *first, *last;
    struct rollup_track *expected; /* the one after the last one found */
};

/* Finds or creates a track. */
struct rollup_track *rollup_track_of(struct rollup_tracks *tracks, struct rollup_set **sets, const struct sample *sample);
void rollup_tracks_clear(struct rollup_tracks *tracks);

/* Removes tracks without a sample in this window. */
void rollup_tracks_sweep(struct rollup_tracks *tracks);

void rollup_track_add(struct rollup_track *track, const struct sample *sample);

/* Adds another host's track to the job's: minimum, mean and maximum cover both; last values are summed, so that last is
 * the total over the nodes of the job. */
void rollup_track_merge(struct rollup_track *track, const struct rollup_track *from);

/* Adds the sample of the window to batch and resets the track. NOMEM. */
enum err rollup_track_emit(struct rollup_track *track, struct batch *batch, uint64_t time_ns);

#endif
