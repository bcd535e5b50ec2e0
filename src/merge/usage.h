/* What each process instance used itself, without its children, derived from the usage records of the instance and its
 * relatives. Rules and reasons: docs/merge.md. */
#ifndef SONDE_MERGE_USAGE_H
#define SONDE_MERGE_USAGE_H

#include "merge/process_image.h"
#include "merge/usage_records.h"

/* What the family of an instance adds to its counters. */
struct instance_usage {
    struct counters *children_sum; /* what exited children used, with theirs; NULL: not needed */
    uint64_t extra_us;             /* its share of time that is known only for the family as a whole */
    uint64_t members_us;           /* known CPU time of the family members that share one total, */
    uint64_t weight;               /* their weight for distributing the rest, */
    uint32_t members;              /* their number, */
    uint32_t tasks;                /* and how many threads they had */
    bool estimated;                /* extra_us is a share among several */
    bool includes_others;          /* counters include other processes that cannot be separated */
};

struct usage {
    const struct record_index *records;
    const struct process_instances *instances;
    const struct process_images *images;
    struct instance_usage *list; /* by instance */
    void *memory;                /* of children_sum */
};

/* order: the image at each position, parents first. */
enum err usage_init(struct usage *usage, const struct record_index *records, const struct process_instances *instances,
                    const struct process_images *images, const uint32_t *order, uint32_t count);
void usage_clear(struct usage *usage);

/* What the instance itself used, over all of its images. false: nothing is known. */
bool usage_of_instance(const struct usage *usage, uint32_t instance, const struct usage_records *reported,
                       struct counters *own);

/* Sets cutime, cstime, cminflt and cmajflt (papiex's names) where they are unknown. */
void usage_take_children(const struct counters *children, struct counters *own);

/* Like counters_subtract, but treats CPU time as one value: the sum is exact and user/system is only a split by ticks,
 * so that either of them alone could become negative. */
void usage_subtract(struct counters *minuend, const struct counters *subtrahend);

#endif
