/* The metrics of one segment: descriptors as bytes of the file, and the sums of their values over threads. Accepts any
 * bytes. For segment_reader.c. */
#ifndef SONDE_APPMETRICS_SEGMENT_METRICS_H
#define SONDE_APPMETRICS_SEGMENT_METRICS_H

#include "base/vec.h"
#include "appmetrics/segment_reader.h"

#define SEGMENT_METRICS_MAX (4u << 20)
#define SEGMENT_METRICS_BYTES_MAX SEGMENT_BYTES_MAX

union segment_slot {
    uint64_t u64;
    double f64;
};

struct segment_metrics {
    VEC(uint32_t) offsets;    /* for each metric: offset of its descriptor in descriptors, divided by 8 */
    char *descriptors;        /* as in the file, one after another */
    size_t descriptor_bytes, descriptor_capacity;
    uint32_t chunks;          /* number of chunks in which metrics have slots */
    union segment_slot *slots; /* sums: chunks x SEGMENT_CHUNK_SLOTS */
    uint8_t *types;           /* for each slot: how it is summed */
    uint64_t slot_count;      /* slots of all descriptors */
    double seconds_per_tick;  /* 0: unknown yet */
};

enum err segment_metrics_add(struct segment_metrics *metrics, const char *bytes, size_t size);
void segment_metrics_reset_values(struct segment_metrics *metrics);
void segment_metrics_sum(struct segment_metrics *metrics, uint32_t chunk, const uint64_t *page);
void segment_metrics_value(const struct segment_metrics *metrics, size_t index, struct segment_value *value);
uint64_t segment_metrics_bytes(const struct segment_metrics *metrics); /* that they take in memory */
void segment_metrics_clear(struct segment_metrics *metrics);

#endif
