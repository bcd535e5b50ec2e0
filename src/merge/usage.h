/* What each life used itself, without its children: from what was told of it and of its family.
 * Rules and reasons: docs/merge.md. */
#ifndef SONDE_MERGE_USAGE_H
#define SONDE_MERGE_USAGE_H

#include "merge/process_image.h"
#include "merge/exit_report.h"

/* What a life's family adds to its numbers. */
struct use {
    struct counters *below; /* what ended children used with theirs; NULL: not needed */
    uint64_t extra_us;      /* its share of time that only the family's sum shows */
    uint64_t members_us;    /* of the family that shares one sum: what is known of them, */
    uint64_t weight;        /* what they weigh when the rest is parted, */
    uint32_t members;       /* how many they are, */
    uint32_t tasks;         /* and how many threads they had */
    bool estimated;         /* extra_us is a share among several */
    bool with_others;       /* its numbers hold those of others that nobody could tell apart */
};

struct usage {
    const struct events *events;
    const struct lives *lives;
    const struct images *images;
    struct use *list; /* by life */
    void *memory;     /* of below */
};

/* order: the image of each place, parents first. */
enum err usage_init(struct usage *usage, const struct events *events, const struct lives *lives,
                    const struct images *images, const uint32_t *order, uint32_t count);
void usage_clear(struct usage *usage);

/* All that the life used itself, over all of its images. false: nothing is known. */
bool usage_of_life(const struct usage *usage, uint32_t life, const struct told *told, struct counters *own);

/* Sets what papiex calls the numbers of the children, where they are not known yet. */
void usage_take_children(const struct counters *children, struct counters *own);

/* As counters_subtract, but the CPU time is taken as one: its sum is exact and the parts are only its split, so that one
 * of them alone could come out below 0. */
void usage_subtract(struct counters *minuend, const struct counters *subtrahend);

#endif
